"""Lets a handler answer. What is not known is looked for again at the end of the topic."""

from twinlog.registry.refusals import NotFound
from twinlog.surface.registry.exchange import Answer, NoSuchPath, Request, plain_error
from twinlog.surface.registry.registry import Registry
from twinlog.surface.registry.routes import Handler


async def answered(registry: Registry, handler: Handler, request: Request) -> Answer:
    """The answer of a handler; what is not known is looked for again at the end of the topic."""
    try:
        return await handler(registry, request)
    except NoSuchPath:
        return plain_error(404, "Not Found", typed=True)  # a number of the path or query that is none
    except NotFound as missing:
        # Another instance may have written it a moment ago: read up to the end of the topic, then answer.
        before = registry.state.revision
        if not await registry.store.caught_up():
            missing.retry_after_s = 1
            raise
        if registry.state.revision == before:
            raise
        return await handler(registry, request)
