import { Empty } from "../ui";

export function Overview() {
  return <Empty title="This page is being written" />;
}
