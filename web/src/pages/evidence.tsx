import { Empty } from "../ui";

export function Evidence() {
  return <Empty title="This page is being written" />;
}
