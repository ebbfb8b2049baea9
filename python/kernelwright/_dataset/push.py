"""Uploads the folder of a data set to the Hugging Face hub.

python -I push.py FOLDER REPO_ID [--private]

A missing repository is created. Hidden and incomplete files are not uploaded. The last line of standard output is
{"repo", "commit", "url"}. An error is one line, {"error": {"what", "remedy"}}, and exit 2. The hub library's own settings
control token, mirror and offline mode: HF_TOKEN or `hf auth login`, HF_ENDPOINT, HF_HUB_OFFLINE. Progress goes to
standard error.
"""
import argparse
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # -I omits it
from kernelwright._dataset.hub import HubError, first_line, without_token  # noqa: E402

LEFT_BEHIND = [".*", "**/.*", "*.tmp", "**/*.tmp"]


def explain(repo, error):
    """The error and remedy for an exception of the library."""
    from huggingface_hub import constants, errors
    status = getattr(getattr(error, "response", None), "status_code", None)
    why = first_line(getattr(error, "server_message", None) or error)
    if isinstance(error, errors.LocalTokenNotFoundError) or status in (401, 403):
        return HubError(f"the hub does not let you write to {repo}: {why}",
                        "log in with `hf auth login`, or set HF_TOKEN to a token that may write there")
    if isinstance(error, errors.HFValidationError):
        return HubError(f"\"{repo}\" is no name of a repository: {why}", "give NAME or OWNER/NAME")
    if constants.HF_HUB_OFFLINE:
        return HubError(f"offline mode is on (HF_HUB_OFFLINE), and {repo} cannot be reached", "unset HF_HUB_OFFLINE")
    if status == 400:
        return HubError(f"the hub refuses the upload to {repo}: {why}", "mend what it names, and push again")
    return HubError(f"the upload to {repo} did not succeed: {why}",
                    "the folder is whole: push again when the hub can be reached; what was uploaded is not sent twice")


def push(folder, repo, private):
    if not (Path(folder) / "README.md").is_file():
        raise HubError(f"{folder} has no README.md: it is no folder of a data set", "give the folder that `dataset build` made")
    try:
        from huggingface_hub import HfApi
    except ImportError as error:
        raise HubError(f"huggingface_hub is missing from {sys.executable} ({error})",
                       f"{sys.executable} -m pip install huggingface_hub") from None
    try:
        api = HfApi()
        made = api.create_repo(repo, repo_type="dataset", private=private or None, exist_ok=True)
        done = api.upload_folder(folder_path=folder, repo_id=made.repo_id, repo_type="dataset",
                                 ignore_patterns=LEFT_BEHIND, commit_message="Upload of a data set by Kernelwright")
    except Exception as error:  # exceptions of the library, its HTTP client and the system have no common base
        raise explain(repo, error) from None
    return {"repo": made.repo_id, "commit": done.oid, "url": str(made)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("repo")
    parser.add_argument("--private", action="store_true")
    options = parser.parse_args()
    if not sys.stderr.isatty():
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # bars would fill a log file
    out, sys.stdout = sys.stdout, sys.stderr  # only the answer goes to standard output
    try:
        print(json.dumps(push(options.folder, options.repo, options.private)), file=out)
    except HubError as error:
        answer = {"what": without_token(error.what), "remedy": without_token(error.remedy)}
        print(json.dumps({"error": answer}), file=out)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
