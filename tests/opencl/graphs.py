"""A graph executor for OpenCL devices: one buffer or image per storage id, and every node run in its turn.

It reads the same JSON as TVM's own and allocates by the same rule, so other storage ids can be tried. Storage is filled
with NaN first, and what every node writes is kept, since outputs alone hide many overlaps.
"""

import json

import numpy as np
import tvm
from tvm import relay

from tests.opencl import images
from tvm_memplan.dialects.graph_json import read_graph
from tvm_memplan.dialects.textures import is_texture, texture_extents


class Network:
    """A Relay module built for OpenCL with textures."""

    def __init__(self, module, params, config=None):
        target = images.adreno()

        def make():
            with target:
                return relay.build(module, target=target, params=params)

        built, functions = images.watched(make, config, opt_level=3)
        self.program = images.Program(built.get_lib().imported_modules[0].get_source(), functions)
        self.graph_json = built.get_graph_json()
        self.params = {name: array.numpy() for name, array in built.get_params().items()}

    def run(self, graph_json, inputs):
        """Every tensor that the nodes write, in order, as bytes; storage ids are those of `graph_json`."""
        graph = read_graph(graph_json)
        storage = {}
        for number in {tensor.storage_id for tensor in graph.tensors}:
            tensors = [tensor for tensor in graph.tensors if tensor.storage_id == number]
            if is_texture(tensors[0].scope):
                extents = [texture_extents(tensor.shape, tensor.scope)[:2] for tensor in tensors]
                storage[number] = images.image(*map(max, zip(*extents)), tensors[0].dtype)
            else:
                storage[number] = images.memory(max(tensor.size for tensor in tensors))
        seen = []
        given = {**self.params, **inputs}
        for node in graph.nodes:
            for e in node.writes:
                if not node.function:
                    fill(storage[graph.tensors[e].storage_id], graph.tensors[e], given[node.name])
        for node in graph.nodes:
            if node.function and not node.is_alias:
                places = [storage[graph.tensors[e].storage_id] for e in (*node.reads, *node.writes)]
                self.program.run(node.function, places)
                seen += [read(storage[graph.tensors[e].storage_id], graph.tensors[e]).tobytes() for e in node.writes]
        return seen, [read(storage[graph.tensors[e].storage_id], graph.tensors[e]) for e in graph.heads]


def fill(place, tensor, values):
    """Write an array into storage, by the layout of its scope."""
    values = np.ascontiguousarray(values, tensor.dtype)
    if is_texture(tensor.scope):
        width, height, channels = texture_extents(tensor.shape, tensor.scope)
        images.fill_image(place, values.reshape(height, width, channels))
    else:
        cl, _, queue = images.device()
        cl.enqueue_copy(queue, place, values)


def read(place, tensor):
    """The array that lies in storage."""
    if is_texture(tensor.scope):
        width, height, channels = texture_extents(tensor.shape, tensor.scope)
        return images.read_image(place, width, height, tensor.dtype)[..., :channels].reshape(tensor.shape)
    return images.read_memory(place, np.empty(tensor.shape, tensor.dtype))


def convolutions(seed=0, size=12, widths=(16, 16, 16, 24), strides=(1, 1, 1, 2)):
    """A module and parameters: convolutions whose activations become textures of several extents.

    Every layer adds what came out two layers before, where the shapes agree: a value that has to survive.
    """
    dice = np.random.default_rng(seed)
    values, shapes = [relay.var("x", shape=(1, 8, size, size), dtype="float32")], [(8, size)]
    params = {}
    for k, (wide, stride) in enumerate(zip(widths, strides)):
        channels, size = shapes[-1]
        weight = relay.var(f"w{k}", shape=(wide, channels, 3, 3), dtype="float32")
        params[f"w{k}"] = dice.normal(size=(wide, channels, 3, 3), scale=(9 * channels) ** -0.5).astype("float32")
        out = relay.nn.conv2d(values[-1], weight, (stride, stride), (1, 1), channels=wide, kernel_size=(3, 3))
        shapes.append((wide, size // stride))
        if k and shapes[-3] == shapes[-1]:
            out = relay.add(out, values[-2])
        values.append(relay.nn.relu(out))
    function = relay.Function(relay.analysis.free_vars(values[-1]), values[-1])
    return tvm.IRModule.from_expr(function), {name: tvm.nd.array(array) for name, array in params.items()}


def with_ids(graph_json, change):
    """The graph with some storage ids replaced, nobody asked: ``{id: other id}`` by tensor."""
    data = json.loads(graph_json)
    ids = data["attrs"]["storage_id"][1]
    for tensor, number in change.items():
        ids[tensor] = number
    return json.dumps(data)
