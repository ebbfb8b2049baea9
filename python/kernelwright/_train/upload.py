"""Uploads an adapter to the Hugging Face hub."""
import os
import sys

from .._dataset.push import LEFT_BEHIND, explain
from .._dataset.hub import HubError, without_token
from .events import TrainError

# Checkpoints and tokens serve only to resume; the log contains paths of this machine.
OURS = ["checkpoint-*", "checkpoint-*/**", "shards", "shards/**", "*.log", "log.jsonl"]


def upload(folder, repo):
    """Uploads the files that others need to load the adapter. Returns its address on the hub."""
    from huggingface_hub import HfApi
    if not sys.stderr.isatty():
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    try:
        api = HfApi()
        made = api.create_repo(repo, repo_type="model", exist_ok=True)
        api.upload_folder(folder_path=folder, repo_id=made.repo_id, repo_type="model", ignore_patterns=LEFT_BEHIND + OURS,
                          commit_message="Upload of an adapter by Kernelwright")
    except Exception as error:  # exceptions of the library, its HTTP client and the system have no common base
        told = error if isinstance(error, HubError) else explain(repo, error)
        raise TrainError(f"{without_token(told.what)} (the adapter is whole in {folder})",
                         without_token(told.remedy)) from None
    return str(made)
