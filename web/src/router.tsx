// The pages by the first part of the fragment. A page is one file under pages/ that exports its component.
import type { FunctionComponent } from "preact";
import { Compare } from "./pages/compare";
import { ContentsPage } from "./pages/contents";
import { Dataset } from "./pages/dataset";
import { Evidence } from "./pages/evidence";
import { Overview } from "./pages/overview";
import { Review } from "./pages/review";
import { TablePage } from "./pages/table";
import { Transcript } from "./pages/transcript";
import type { Report } from "./report";
import { hasJudged } from "./selection";
import type { Source } from "./source";

export interface Page {
  title: string;
  component: FunctionComponent;
  /** It writes a heading of its own; for the others the frame has one, for screen readers. */
  ownHeading?: boolean;
  /** In the navigation, where it applies to this report; a page without it is reached by links alone. */
  inNavigation: ((report: Report, source: Source) => boolean) | null;
}

/** No verdicts, but rows or an analysis of a data set: its page is the first one. */
export const isDatasetAlone = (report: Report): boolean => PAGES["dataset"]!.inNavigation!(report, null as never) && !hasJudged(report) && report.index.scores.length === 0;

const hasKind = (report: Report, kind: string) => report.sources.some((of) => of.kind === kind);

export const PAGES: Record<string, Page> = {
  overview: { title: "Overview", component: Overview, inNavigation: (report) => !isDatasetAlone(report) },
  table: { title: "Table", component: TablePage, inNavigation: hasJudged },
  compare: {
    title: "Compare",
    component: Compare,
    inNavigation: (report) => report.sources.filter((of) => of.kind !== "dataset").length > 1,
  },
  dataset: { title: "Data set", component: Dataset, inNavigation: (report) => hasKind(report, "dataset") || report.index.datasets.length > 0 },
  review: { title: "Review", component: Review, ownHeading: true, inNavigation: (report, source) => source.live && hasJudged(report) },
  contents: { title: "Contents", component: ContentsPage, inNavigation: () => true },
  transcript: { title: "Transcript", component: Transcript, ownHeading: true, inNavigation: null },
  evidence: { title: "Evidence", component: Evidence, ownHeading: true, inNavigation: null },
};
