import { Empty } from "../ui";

export function Transcript() {
  return <Empty title="This page is being written" />;
}
