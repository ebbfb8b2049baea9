"""Reports events to `kernelwright deploy`: a JSON object a line on descriptor 3. Progress goes to standard error."""
import contextlib
import json
import os
import sys

EVENTS_FD = 3


class DeployError(Exception):
    def __init__(self, what, remedy):
        super().__init__(what)
        self.what, self.remedy = what, remedy


def tell(**event):
    os.write(EVENTS_FD, (json.dumps(event) + "\n").encode())


def say(text):
    print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def errors_told():
    """Turns an error into one event and exit 1; an unexpected one also prints its traceback on standard error."""
    try:
        yield
    except DeployError as error:
        tell(error={"what": error.what, "remedy": error.remedy})
        sys.exit(1)
    except Exception as error:
        tell(error={"what": f"{type(error).__name__}: {error}", "remedy": "the traceback stands above"})
        raise


def package_missing(package, requirement):
    command = f"{sys.executable} -m pip install '{requirement}'"
    return DeployError(f"{package} is missing from {sys.executable}", f"{command}, or name another Python: --python")
