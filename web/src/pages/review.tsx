import { Empty } from "../ui";

export function Review() {
  return <Empty title="This page is being written" />;
}
