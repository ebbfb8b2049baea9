// The device work of a call: each launch with its origin, by stream.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { counted } from "../charts/figures";
import { Timeline, type TimelineLaunch } from "../charts/timeline";
import { type Fields, fieldsOrNull, listOrNull, numberOf, objectsOf, shareOf, textOf } from "../fields";
import { count, duration, NONE, percent } from "../numbers";
import { Text } from "../text";
import { Facts } from "../ui";
import { Fact, HELP, NotRecorded, Part } from "./part";
import { isInterpreted } from "./record";

const MOST_LAUNCHES = 400;

function dimensions(value: unknown): string {
  const list = listOrNull(value);
  return list && list.length > 0 ? list.slice(0, 3).map((one) => numberOf(one) ?? "?").join("×") : NONE;
}

function timelineLaunch(launch: Fields): TimelineLaunch {
  const name = textOf(launch["name"]) ?? "unnamed";
  const origin = textOf(launch["whose"]) ?? "not recorded";
  const [stream, startMs, timeMs] = ["stream", "start_ms", "time_ms"].map((field) => numberOf(launch[field]));
  return {
    name,
    origin,
    stream: stream ?? null,
    startMs: startMs ?? null,
    timeMs: timeMs !== undefined && timeMs !== null && timeMs >= 0 ? timeMs : null,
    label:
      `${name.slice(0, 120)} (${origin}), stream ${stream ?? "not recorded"}` +
      `${startMs == null ? "" : `, begins at ${duration(startMs)}`}${timeMs == null ? ", time not recorded" : `, takes ${duration(timeMs)}`}` +
      `, grid ${dimensions(launch["grid"])}, block ${dimensions(launch["block"])}`,
  };
}

/** Launches by the number of their recording; -1: a call that was not recorded. */
function byRecording(launches: readonly Fields[]): Map<number, Fields[]> {
  const recordings = new Map<number, Fields[]>();
  for (const launch of launches) {
    const number = numberOf(launch["recording"]) ?? -1;
    const list = recordings.get(number);
    if (list) list.push(launch);
    else recordings.set(number, [launch]);
  }
  return recordings;
}

const ORIGINS = [
  ["triton", "own Triton"],
  ["native", "own native"],
  ["library", "library"],
  ["unattested", "unattested"],
] as const;

/** "own Triton 78%, library 22%": the shares of device time; null where they are not recorded. */
function sharesOf(verdict: Fields): string | null {
  const shares = fieldsOrNull(verdict["device_time_share"]);
  if (shares === null) return null;
  const parts = ORIGINS.map(([field, name]): [string, number] => [name, shareOf(shares[field]) ?? 0]).filter(([, share]) => share > 0);
  return parts.map(([name, share]) => `${name} ${percent(share, 1)}`).join(", ");
}

export function Launches({ verdict, evidence }: { verdict: Fields; evidence: Fields | null }): JSX.Element {
  const stored = listOrNull(evidence?.["launches"]);
  const known = stored ?? listOrNull(verdict["launches"]);
  const recordings = byRecording(objectsOf(known));
  const numbers = [...recordings.keys()].sort((a, b) => a - b);
  const [chosen, setChosen] = useState<number | null>(null);
  const number = chosen !== null && recordings.has(chosen) ? chosen : (numbers[0] ?? -1);
  const launches = (recordings.get(number) ?? []).slice(0, MOST_LAUNCHES);
  const leftOut = (numberOf(evidence?.["launches_left_out"]) ?? 0) + (recordings.get(number)?.length ?? 0) - launches.length;
  const replay = fieldsOrNull(verdict["replay"]);
  // Without a record nothing states a launch's source: only those of a replay come from outside the candidate's process.
  const isClaim = (launch: Fields): boolean => (stored === null ? verdict["trust"] !== "replay" : launch["source"] === "claim");
  const claims = launches.filter(isClaim).length;
  const share = shareOf(verdict["triton_share"]);
  const shares = sharesOf(verdict);
  const replayFacts = (["recordings", "operations", "streams", "downloads", "unjoined", "orders"] as const).map((field): [string, JSX.Element] => [
    REPLAY_NAMES[field],
    <Fact value={numberOf(replay?.[field]) === null ? null : count(numberOf(replay?.[field]))} />,
  ]);
  const details = new Map(objectsOf(verdict["launches"]).map((launch) => [textOf(launch["name"]), launch]));
  return (
    <Part id="launches" title="Launches by origin" help={HELP.launches}>
      {known === null ? (
        <NotRecorded why="launches were not observed" />
      ) : launches.length === 0 ? (
        <p>The call launched nothing on the device.</p>
      ) : (
        <>
          {numbers.length > 1 && (
            <div class="tabs" role="group" aria-label="Recording">
              {numbers.slice(0, 12).map((one) => (
                <button type="button" class="quiet" aria-pressed={one === number} onClick={() => setChosen(one)}>
                  {one < 0 ? "call" : `recording ${one}`}
                </button>
              ))}
            </div>
          )}
          <Timeline
            title={number < 0 ? "One call" : `Recording ${number}`}
            launches={launches.map(timelineLaunch)}
            withoutStream={isInterpreted(verdict) ? "interpreter" : "unknown stream"}
          />
          {claims > 0 && (
            <p class="warn">
              {claims === launches.length ? "All of these" : `${counted(claims, "launch", "launches")} of these`} are stated by the candidate's own process, which could falsify them.
            </p>
          )}
          <LaunchTable launches={launches} details={details} />
          {leftOut > 0 && <p class="mute">{counted(leftOut, "further launch", "further launches")} are left out.</p>}
        </>
      )}
      <Facts
        facts={[
          // An interpreter times and replays nothing; the part on times says so once.
          ...(isInterpreted(verdict) && share === null ? [] : [["Device time in attested kernels", <Fact value={share === null ? null : percent(share, 1)} />] as [string, JSX.Element]]),
          ...(shares === null ? [] : [["Device time by origin", <Fact value={shares} />] as [string, JSX.Element]]),
          ...(isInterpreted(verdict) && replay === null ? [] : replayFacts),
        ]}
      />
      {textOf(replay?.["why_not"]) && (
        <p>
          Not replayed: <Text value={replay?.["why_not"]} />
        </p>
      )}
    </Part>
  );
}

const REPLAY_NAMES = {
  recordings: "Recordings",
  operations: "Operations of a call",
  streams: "Streams",
  downloads: "Copies to the host",
  unjoined: "Unjoined operations",
  orders: "Possible orders",
};

function LaunchTable({ launches, details }: { launches: readonly Fields[]; details: Map<string | null, Fields> }): JSX.Element {
  const isStarted = launches.some((launch) => numberOf(launch["start_ms"]) !== null);
  return (
    <details class="chart-table">
      <summary>{counted(launches.length, "launch", "launches")} as a table</summary>
      <div class="scroll" tabIndex={0} role="region" aria-label="Launches">
        <table>
          <thead>
            <tr>
              {["name", "origin", "stream", ...(isStarted ? ["start"] : []), "time", "grid", "block", "registers", "spills", "shared bytes"].map((name) => (
                <th scope="col">{name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {launches.map((launch) => {
              const detail = details.get(textOf(launch["name"])) ?? launch;
              return (
                <tr>
                  <th scope="row" class="launch-name mono"><Text value={textOf(launch["name"]) ?? "unnamed"} limit={160} /></th>
                  <td><Text value={textOf(launch["whose"]) ?? NONE} limit={40} /></td>
                  <td>{numberOf(launch["stream"]) ?? NONE}</td>
                  {isStarted && <td>{duration(numberOf(launch["start_ms"]))}</td>}
                  <td>{duration(numberOf(launch["time_ms"]))}</td>
                  <td>{dimensions(launch["grid"])}</td>
                  <td>{dimensions(launch["block"])}</td>
                  {["registers", "spills", "shared_bytes"].map((field) => (
                    <td>{count(numberOf(detail[field]))}</td>
                  ))}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </details>
  );
}
