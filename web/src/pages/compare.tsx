import { Empty } from "../ui";

export function Compare() {
  return <Empty title="This page is being written" />;
}
