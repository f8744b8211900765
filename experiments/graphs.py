"""Gradients by CUDA graphs: launched once, not once per kernel, for batches of few shapes."""

import torch


class Gradients:
    """The loss of a batch and the gradients of `parameters`, left in their `grad`."""

    def __init__(self, compute, parameters, captures):
        self.compute, self.parameters, self.captures = compute, parameters, captures
        for p in parameters:  # another loss may share them
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        self.grads = [p.grad for p in parameters]
        self.captured, self.pool = {}, None

    def _differentiate(self, tensors):
        loss = self.compute(*tensors)
        found = torch.autograd.grad(loss, self.parameters)
        torch._foreach_copy_(self.grads, list(found))
        return loss.detach()

    def __call__(self, *tensors):
        """The loss. Batches of one shape share a graph."""
        if not self.captures:
            return self._differentiate(tensors)
        key = tuple(t.shape for t in tensors)
        if key not in self.captured:
            self.captured[key] = self._capture(tensors)
        graph, given, loss = self.captured[key]
        torch._foreach_copy_(given, list(tensors))
        graph.replay()
        return loss

    def _capture(self, tensors):
        given = [t.clone() for t in tensors]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # libraries allocate what they need at their first call
            self._differentiate(given)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool):
            loss = self._differentiate(given)
        self.pool = self.pool or graph.pool()
        return graph, given, loss
