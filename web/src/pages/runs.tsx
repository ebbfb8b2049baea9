// The inputs of a folder that `view` shows: each opens as a report of its own.
import { useEffect, useState } from "preact/hooks";
import { count, moment } from "../numbers";
import { Text } from "../text";
import { Empty, Problem } from "../ui";

export interface Run {
  path: string;
  name: string;
  kind: string;
  state: string | null;
  rows: number | null;
  right: number | null;
  modified_at: string | null;
}

const AGAIN_MS = 5000;

export function Runs({ read }: { read: () => Promise<Run[]> }) {
  const [runs, setRuns] = useState<Run[] | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  useEffect(() => {
    document.title = "Runs";
    const again = () =>
      void read().then(
        (found) => {
          setRuns(found);
          setFailure(null);
        },
        (error: Error) => setFailure(error.message),
      );
    again();
    const timer = setInterval(again, AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  if (!runs) return <main class="page">{failure ? <Problem message={failure} remedy="" /> : <p class="mute" role="status">Reading the folder …</p>}</main>;
  const newest = [...runs].sort((a, b) => ((a.modified_at ?? "") < (b.modified_at ?? "") ? 1 : -1));
  return (
    <main class="page">
      <h1>Runs</h1>
      {failure ? <Problem message={failure} remedy="" /> : null}
      {runs.length === 0 ? (
        <Empty title="The folder has no runs">Runs, traces, verdicts, scores and data sets appear here when they are written.</Empty>
      ) : (
        <div class="scroll-x">
          <table class="runs">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Kind</th>
                <th scope="col">State</th>
                <th scope="col" class="number">Rows</th>
                <th scope="col" class="number">Right</th>
                <th scope="col">Changed</th>
              </tr>
            </thead>
            <tbody>
              {newest.map((run) => (
                <tr key={run.path}>
                  <th scope="row">
                    <a href={`/?run=${encodeURIComponent(run.path)}`}>
                      <Text value={run.path} limit={120} />
                    </a>
                  </th>
                  <td>{run.kind}</td>
                  <td>{run.state ?? ""}</td>
                  <td class="number">{run.rows === null ? "" : count(run.rows)}</td>
                  <td class="number">{run.right === null ? "" : count(run.right)}</td>
                  <td>{moment(run.modified_at)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </main>
  );
}
