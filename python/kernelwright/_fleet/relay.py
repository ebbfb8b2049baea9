"""Forwards requests to a service on loopback and its answers to the client, both unchanged."""
import aiohttp
from starlette.responses import JSONResponse, Response

# Headers that belong to one connection, not to the message.
_HOP = {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding",
        "upgrade", "host", "content-length"}
LIMIT_S = 120  # above the longest wait that the service grants


class Relay:
    def __init__(self):
        self._session = None

    async def send(self, url, request):
        """The service's answer, or 503 where no service answers."""
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=LIMIT_S),
                                                  connector=aiohttp.TCPConnector(limit=0), auto_decompress=False)
        target = url + request.url.path + (f"?{request.url.query}" if request.url.query else "")
        headers = [(name, value) for name, value in request.headers.items() if name not in _HOP]
        try:
            async with self._session.request(request.method, target, headers=headers, data=await request.body(),
                                             allow_redirects=False) as answer:
                kept = {name: value for name, value in answer.headers.items() if name.lower() not in _HOP}
                return Response(await answer.read(), answer.status, headers=kept)
        except (aiohttp.ClientError, TimeoutError):
            return unavailable(request, "the service does not answer")


def unavailable(request, why):
    body = {"error": {"class": "unavailable", "message": why, "field": None}}
    if request.url.path == "/health":
        body = {"status": "starting", "why": why}
    return JSONResponse(body, 503, headers={"Retry-After": "2"})
