"""The oracle's loop: one request, one reply."""
import os

from .. import packets, wire
from ..wire import made
from . import faults
from .faults import TaskFault
from .session import Session
from .state import Snapshot

SOURCE_LIMIT = 16 << 20  # bytes of one reference
_STAGES = {"PrepareT": "prepare", "DrawT": "prepare", "JudgeT": "judge", "TimeReferenceT": "time", "ForgetT": "prepare"}


def serve(channel, device=-1):
    """Answer requests until the other end closes; `device` is a CUDA ordinal, or -1 for the CPU.

    A reference may change the process in a way that cannot be undone. The oracle then serves this task to its end, because
    a fresh oracle would be changed too, and answers the next Prepare with a failure of infrastructure: the next task needs
    a fresh oracle.
    """
    session, left, before = Session(device), [], Snapshot()
    while True:
        try:
            request, fds = channel.receive()
        except packets.Ended:
            before.restore()
            raise
        # Checked and restored between tasks only: within a task, changes by its reference affect that task alone.
        between = isinstance(request, (wire.PrepareT, wire.ForgetT))
        left += before.restore() if between else []
        last = bool(left) and between
        reply, replied_fds = (_spent(left), []) if last else answer(session, request, fds)
        if between:
            left += before.restore()
            before = Snapshot()
        session.trim()
        if left and isinstance(reply, wire.PreparedT):
            reply.findings = [*reply.findings, _remark(left)]
        try:
            channel.send(reply, replied_fds)
        finally:
            _close([*fds, *replied_fds])
        if last:
            return


def _remark(left):
    return f"the reference leaves something behind in its process: {', '.join(dict.fromkeys(left))[:300]}"


def _spent(left):
    return made(wire.FailedT, stage="prepare", errorClass="infrastructure",
                error=f"this oracle is used up, start another: an earlier task's {_remark(left)[4:]}")


def answer(session, request, fds):
    """(reply, its descriptors) to one request; every error becomes a FailedT."""
    stage = _STAGES.get(type(request).__name__, "prepare")
    try:
        return _answered(session, request, fds)
    except TaskFault as fault:
        if stage != "prepare" and fault.stage == "prepare":
            fault.stage = stage
        return fault.message(), []
    except Exception as exc:
        return faults.own(exc, stage), []


def _answered(session, request, fds):
    if isinstance(request, wire.PrepareT):
        reply, spec = session.prepare(request, _source(fds))
        return reply, [_memory_file("call", spec)]
    if isinstance(request, wire.DrawT) and request.family:
        arena, reply = session.draw_family(request)
        return reply, [] if request.mapped or arena is None else [arena.export_fd()]
    if isinstance(request, wire.DrawT):
        arena = session.draw(request)
        return made(wire.DrawnT, trial=request.trial), [] if request.mapped else [arena.export_fd()]
    if isinstance(request, wire.JudgeT):
        return session.judge(request), []
    if isinstance(request, wire.TimeReferenceT):
        return session.time_reference(request), []
    if isinstance(request, wire.CertifyT):
        return session.certify(request), []
    if isinstance(request, wire.ForgetT):
        session.forget()
        return made(wire.ForgetT), []
    raise TypeError(f"an oracle does not answer {type(request).__name__}")


def _source(fds):
    if len(fds) != 1:
        raise ValueError(f"a task comes with one descriptor, not {len(fds)}")
    size = os.fstat(fds[0]).st_size
    if size > SOURCE_LIMIT:
        raise TaskFault(f"the reference has {size} bytes, more than {SOURCE_LIMIT}")
    data = b""
    while len(data) < size and (part := os.pread(fds[0], size - len(data), len(data))):
        data += part
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise TaskFault(f"the reference is not UTF-8: {exc}") from None


def _memory_file(name, data):
    fd = os.memfd_create(name, os.MFD_CLOEXEC)
    with open(fd, "wb", closefd=False) as out:
        out.write(data)
    return fd


def _close(fds):
    for fd in fds:
        os.close(fd)
