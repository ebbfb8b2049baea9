"""Logs to trackio: its own environment variables decide where the figures go, by default a local database."""


class TrackioRun:
    def __init__(self, project, name):
        try:
            import trackio
        except ImportError as error:
            if error.name != "trackio":
                raise
            raise SystemExit("trackio is missing from this Python: pip install trackio") from None
        self.trackio = trackio
        trackio.init(project=project, name=name, resume="allow", embed=False, auto_log_gpu=False, auto_log_cpu=False)

    def log(self, step, _, metrics):
        self.trackio.log(metrics, step=step)

    def close(self):
        self.trackio.finish()
