"""NeMo Gym's own rollout collection, agent and model server, whose resources server is a real service of ours.

    nemo_gym_rollouts.py PYTHON         starts the service and a scripted model, and NeMo Gym in PYTHON, which has nemo_gym
    nemo_gym_rollouts.py --gym FOLDER PORT_OF_SERVICE KEY URL_OF_MODEL
"""
import asyncio
import importlib.util
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from four_turns import RIGHT, ROOT, WRONG, tasks_file


def serve(python):
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "python")]
    from end_to_end import program
    from end_to_end.fake_model import FakeModel
    from end_to_end.served import KEY, Served
    assert program.DEVICE == "cpu", "the rewards are those without a GPU"

    class ChatModel(FakeModel):
        """With all fields of a chat completion, which NeMo Gym checks."""

        def send(self, request, status, answer):
            usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
            super().send(request, status, {"id": "c", "object": "chat.completion", "created": 0, **answer, "usage": usage})

    with tempfile.TemporaryDirectory() as name:
        with (Served(Path(name), "--tasks", tasks_file(name), "--correctness-trials", 2) as service,
              ChatModel(lambda path, body: WRONG if "wrong" in str(body["messages"][-1]["content"]) else RIGHT) as model):
            service.ready()
            subprocess.run([python, __file__, "--gym", name, str(service.port), KEY, model.url], check=True)


def free_ports(count):
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def configuration(port, key, model_url):
    """What `gym env start` makes of the yaml files of an agent, a model and a resources server."""
    ports = free_ports(3)
    here = {"host": "127.0.0.1", "entrypoint": "app.py"}
    agent = {**here, "port": ports[1], "resources_server": {"type": "resources_servers", "name": "kernels"},
             "model_server": {"type": "responses_api_models", "name": "policy_model"}}
    model = {**here, "port": ports[2], "base_url": model_url, "api_key": "none", "model": "scripted",
             "return_token_id_information": False, "uses_reasoning_parser": True}
    # The key is the password of the URL that NeMo Gym makes of host and port.
    return {"head_server": {"host": "127.0.0.1", "port": ports[0]},
            "kernels": {"resources_servers": {"kernels": {**here, "host": f"any:{key}@127.0.0.1", "port": port}}},
            "simple_agent": {"responses_api_agents": {"simple_agent": agent}},
            "policy_model": {"responses_api_models": {"vllm_model": model}}}


async def started(server):
    """A server of NeMo Gym with the handlers that its run_webserver adds. That would start a Ray cluster as well."""
    import uvicorn
    app = server.setup_webserver()
    server.setup_exception_middleware(app)
    running = uvicorn.Server(uvicorn.Config(app, host=server.config.host, port=server.config.port, log_level="warning"))
    task = asyncio.create_task(running.serve())
    while not running.started:
        await asyncio.sleep(0.05)
    return running, task


def rows():
    """A row of a data set names its task in `verifier_metadata`, or in a column of its own."""
    for text, where in (("right", {"verifier_metadata": {"task_id": "four/turns"}}), ("wrong", {"task_id": "four/turns"}),
                        ("right", {"verifier_metadata": {"task_id": "broken"}})):
        yield {"responses_create_params": {"input": [{"role": "user", "content": f"A {text} kernel."}]},
               "agent_ref": {"type": "responses_api_agents", "name": "simple_agent"}, **where}


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def collected(folder):
    from nemo_gym.rollout_collection import RolloutCollectionConfig, RolloutCollectionHelper
    given, out = folder / "given.jsonl", folder / "rollouts.jsonl"
    given.write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
    settings = {"input_jsonl_fpath": str(given), "output_jsonl_fpath": str(out), "upload_rollouts_to_wandb": False}
    results = await RolloutCollectionHelper().run_from_config(RolloutCollectionConfig(**settings, num_repeats=2))
    assert [each["reward"] for each in results] == [0.3, 0.3, 0, 0, 0, 0], [each["reward"] for each in results]
    judged, failed = lines(out), lines(folder / "rollouts_failures.jsonl")
    assert sorted(each["reward"] for each in judged) == [0, 0, 0.3, 0.3] and len(failed) == 2
    assert {each["_ng_failure_class"] for each in failed} == {"judge_failed"}
    entry, = json.loads((folder / "rollouts_aggregate_metrics.json").read_text(encoding="utf-8"))
    print("key metrics:", entry["key_metrics"])
    assert entry["key_metrics"]["mean/reward"] == 0.15 and entry["key_metrics"]["mean/correct"] == 0.5
    same_metrics(judged, entry)
    await RolloutCollectionHelper().run_from_config(RolloutCollectionConfig(**settings, num_repeats=2, resume_from_cache=True))
    assert (len(lines(out)), len(lines(folder / "rollouts_failures.jsonl"))) == (4, 4), "asked again in a resumed collection"


async def verified_again(folder):
    """`gym eval reverify`, which asks for /reverify_mode first. Version 0.4.0 has no such command."""
    if importlib.util.find_spec("nemo_gym.rollout_reverification") is None:
        return
    from nemo_gym.rollout_reverification import RolloutReverificationConfig, RolloutReverificationHelper
    out = folder / "again.jsonl"
    await RolloutReverificationHelper().run_from_config(RolloutReverificationConfig(
        materialized_inputs_jsonl_fpath=str(folder / "rollouts_materialized_inputs.jsonl"),
        rollouts_jsonl_fpath=str(folder / "rollouts.jsonl"), output_jsonl_fpath=str(out)))
    assert sorted(each["reward"] for each in lines(out)) == [0, 0, 0.3, 0.3]
    print("verified again")


def same_metrics(judged, entry):
    """Those that NeMo Gym's own resources servers compute of the rows with a verdict."""
    from nemo_gym.reward_profile import compute_aggregate_metrics
    judged = sorted(judged, key=lambda row: (row["_ng_task_index"], row["_ng_rollout_index"]))
    stripped = [{**{key: value for key, value in row.items() if key not in ("response", "responses_create_params")},
                 "response": {"usage": row["response"]["usage"]}} for row in judged]
    theirs = json.loads(compute_aggregate_metrics(stripped).model_dump_json())
    assert entry["agent_metrics"] == theirs["agent_metrics"]
    for ours, group in zip(entry["group_level_metrics"], theirs["group_level_metrics"], strict=True):
        assert ours == {key: group[key] for key in ours}, "theirs have the rows besides"


async def rollouts(folder, config):
    from nemo_gym.global_config import get_global_config_dict
    from nemo_gym.server_utils import HeadServer, ServerClient, get_global_aiohttp_client
    from responses_api_agents.simple_agent.app import SimpleAgent, SimpleAgentConfig
    from responses_api_models.vllm_model.app import VLLMModel, VLLMModelConfig
    head, _, _ = HeadServer.run_webserver()
    client = ServerClient(head_server_config=ServerClient.load_head_server_config(),
                          global_config_dict=get_global_config_dict())
    agent, model = config["simple_agent"], config["policy_model"]
    servers = [await started(each) for each in (
        SimpleAgent(config=SimpleAgentConfig(name="simple_agent", **agent["responses_api_agents"]["simple_agent"]),
                    server_client=client),
        VLLMModel(config=VLLMModelConfig(name="policy_model", **model["responses_api_models"]["vllm_model"]),
                  server_client=client))]
    try:
        await collected(folder)
        await verified_again(folder)
    finally:
        for running in [head, *(each for each, _ in servers)]:
            running.should_exit = True
        await asyncio.gather(*(task for _, task in servers))
        await get_global_aiohttp_client().close()


def gym(folder, port, key, model_url):
    config = configuration(int(port), key, model_url)
    from nemo_gym.global_config import NEMO_GYM_CONFIG_DICT_ENV_VAR_NAME
    os.environ[NEMO_GYM_CONFIG_DICT_ENV_VAR_NAME] = json.dumps(config)
    asyncio.run(rollouts(Path(folder), config))


if __name__ == "__main__":
    if sys.argv[1] == "--gym":
        gym(*sys.argv[2:])
        print("NeMo Gym gets the service's rewards, and a failure where there is no verdict")
    else:
        serve(sys.argv[1])
