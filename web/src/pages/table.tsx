import { Empty } from "../ui";

export function TablePage() {
  return <Empty title="This page is being written" />;
}
