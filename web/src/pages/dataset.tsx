import { Empty } from "../ui";

export function Dataset() {
  return <Empty title="This page is being written" />;
}
