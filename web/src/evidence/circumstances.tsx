// Under which circumstances: isolation, protocol, environment, calling convention, stages.
import type { JSX } from "preact";
import { BarList } from "../charts/bars";
import { type Fields, fieldsOf, fieldsOrNull, listOrNull, numberOf, textOf } from "../fields";
import { duration } from "../numbers";
import { Text } from "../text";
import { Facts, Word } from "../ui";
import { Fact, HELP, NotRecorded, Outcome, Part } from "./part";
import { isInterpreted } from "./record";

const LAYERS: readonly [string, string][] = [
  ["user_ns", "a user namespace"],
  ["mount_ns", "its own mounts"],
  ["root", "a read-only root"],
  ["pid_ns", "its own processes"],
  ["net_ns", "no network"],
  ["ipc_ns", "no shared memory of others"],
  ["uts_ns", "its own host name"],
  ["uid", "not root, no capabilities"],
  ["no_new_privs", "cannot gain rights"],
  ["landlock", "writes to private folders alone"],
  ["rlimits", "limits of a process"],
  ["cgroup_memory", "memory of all its processes limited"],
  ["cgroup_pids", "number of processes limited"],
  ["seccomp", "system calls refused"],
];

export function Isolation({ verdict }: { verdict: Fields }): JSX.Element {
  const isolation = fieldsOrNull(verdict["isolation"]);
  const layers = listOrNull(isolation?.["layers"]);
  const present = new Set((layers ?? []).filter((layer) => typeof layer === "string"));
  const others = [...present].filter((layer) => !LAYERS.some(([name]) => name === layer));
  return (
    <Part id="isolation" title="Isolation" help={HELP.isolation}>
      {isolation === null ? (
        <NotRecorded why="nothing ran" />
      ) : (
        <>
          <p>
            Level: <Word kind="isolation" word={textOf(isolation["level"])} />
          </p>
          {layers === null ? (
            <NotRecorded why="layers" />
          ) : (
            <ul class="layers">
              {LAYERS.map(([name, does]) => (
                <li>
                  <Outcome tone={present.has(name) ? "good" : "mute"}>
                    <span class="mono">{name}</span> <span class="mute">{present.has(name) ? does : "not applied"}</span>
                  </Outcome>
                </li>
              ))}
              {others.slice(0, 20).map((name) => (
                <li>
                  <Outcome tone="good"><Text value={name} limit={80} /></Outcome>
                </li>
              ))}
            </ul>
          )}
        </>
      )}
    </Part>
  );
}

export function Environment({ verdict }: { verdict: Fields }): JSX.Element {
  const environment = fieldsOf(verdict["environment"]);
  const call = fieldsOrNull(verdict["call"]);
  const args = listOrNull(call?.["arguments"])?.filter((one) => typeof one === "string").slice(0, 40).join(", ");
  const of = (field: string): JSX.Element => <Fact value={textOf(environment[field])} />;
  return (
    <Part id="protocol" title="Protocol and environment" help={HELP.protocol}>
      <Facts
        facts={[
          ["Protocol", <span class="mono">{of("protocol")}</span>],
          ...(isInterpreted(verdict) && textOf(environment["gpu"]) === null
            ? [["GPU", "none: interpreted on the CPU"] as [string, string]]
            : ([["GPU", of("gpu")], ["Driver", of("driver")], ["CUDA", of("cuda")]] as [string, JSX.Element][])),
          ["torch", of("torch")],
          ["triton", of("triton")],
          ["kernelwright", of("program_version")],
          ["Shapes", <Word kind="shapes" word={textOf(verdict["shapes"])} />],
          ["Entry", <Fact value={textOf(call?.["entry"])} />],
          ["Convention", <Fact value={textOf(call?.["convention"])} />],
          ["Weights", <Fact value={textOf(call?.["weights"])} />],
          ["Arguments", <Fact value={args === undefined ? null : args || "none"} />],
        ]}
      />
    </Part>
  );
}

export function Stages({ verdict }: { verdict: Fields }): JSX.Element {
  const stages = Object.entries(fieldsOf(verdict["stages_ms"]))
    .map(([name, ms]) => ({ name, value: numberOf(ms) }))
    .filter((stage): stage is { name: string; value: number } => stage.value !== null && stage.value >= 0)
    .slice(0, 20);
  const hash = (field: string): string | null => textOf(verdict[field]);
  return (
    <Part id="stages" title="Stages and identity" help={HELP.stages}>
      {stages.length === 0 ? <NotRecorded why="times of stages" /> : <BarList all label="Time of each stage" bars={stages.map((stage) => ({ ...stage, shown: duration(stage.value) }))} />}
      <Facts
        facts={[
          ["SHA-256 of the candidate", <span class="mono"><Fact value={hash("candidate_sha256")} /></span>],
          ["Work", <span class="mono"><Fact value={hash("work")} /></span>],
        ]}
      />
    </Part>
  );
}
