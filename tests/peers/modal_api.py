"""A stand-in for Modal's control plane: real gRPC with Modal's own protocol; it runs nothing.

It records deployments. Only the answers on which the client's library depends are meaningful.
"""
import asyncio
import threading

import grpclib.server
from modal_proto import api_grpc, api_pb2

WORKSPACE = "somebody"


class ModalApi:
    """`url` is for MODAL_SERVER_URL. `refuses`: every request has a wrong token."""

    def __init__(self, refuses=False):
        self.refuses, self.url = refuses, None
        self.calls = []  # (method, request)
        self._loop, self._ready = asyncio.new_event_loop(), threading.Event()

    def __enter__(self):
        threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True).start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._over.set)

    def requests(self, method):
        return [request for name, request in self.calls if name == method]

    async def _serve(self):
        self._over = asyncio.Event()
        server = grpclib.server.Server([_service(self)])
        await server.start("127.0.0.1", 0)
        port = server._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._ready.set()
        await self._over.wait()
        server.close()
        await server.wait_closed()


def _service(api):
    names = api_grpc.ModalClientBase.__abstractmethods__
    made = type("Service", (api_grpc.ModalClientBase,), {name: _method(api, name) for name in names})()
    api.replies = {path.rsplit("/", 1)[1]: handler.reply_type for path, handler in made.__mapping__().items()}
    return made


def _method(api, name):
    async def answer(_, stream):
        request = await stream.recv_message()
        api.calls.append((name, request))
        if api.refuses:
            raise grpclib.GRPCError(grpclib.const.Status.UNAUTHENTICATED, "Token ID is malformed")
        give = _ANSWERS.get(name)
        await stream.send_message(give(request) if give else api.replies[name]())
    return answer


def _handle(name, function_type, webhook):
    url = f"https://{WORKSPACE}--kernelbench-triton-{name}.modal.run" if webhook.type else ""
    return {"function_name": name, "function_type": function_type, "web_url": url}


def _precreated(request):
    handle = _handle(request.function_name, request.function_type, request.webhook_config)
    return api_pb2.FunctionPrecreateResponse(function_id=f"fu-{request.function_name}", handle_metadata=handle)


def _created(request):
    made = request.function
    handle = _handle(made.function_name, made.function_type, made.webhook_config)
    data = api_pb2.FunctionData(ranked_functions=[{"function": made}], webhook_config=made.webhook_config,
                                web_url=handle["web_url"])
    return api_pb2.FunctionCreateResponse(function_id=request.existing_function_id, handle_metadata=handle,
                                          function_data=data)


_ANSWERS = {
    "EnvironmentGetOrCreate": lambda _: api_pb2.EnvironmentGetOrCreateResponse(environment_id="en-1", metadata={
        "name": "main", "settings": {"image_builder_version": "2025.06"}}),
    "AppCreate": lambda _: api_pb2.AppCreateResponse(app_id="ap-1"),
    "ImageGetOrCreate": lambda _: api_pb2.ImageGetOrCreateResponse(image_id="im-1", result={"status": 1}),
    "MountGetOrCreate": lambda _: api_pb2.MountGetOrCreateResponse(mount_id="mo-1"),
    "MountPutFile": lambda _: api_pb2.MountPutFileResponse(exists=True),
    "FunctionPrecreate": _precreated,
    "FunctionCreate": _created,
    "ClassCreate": lambda _: api_pb2.ClassCreateResponse(class_id="cs-1"),
    "AppPublish": lambda _: api_pb2.AppPublishResponse(url="https://modal.com/apps/somebody/main"),
}
