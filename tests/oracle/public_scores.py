"""Biases, and terms of content and position together."""

import types
from importlib import import_module

import numpy as np
import torch

from public import compare, config, doors, lower, model, states, tensor, terms
from references import Parameters, alibi_slopes, t5_bucket


@compare("alibi", "x-transformers")
def _():
    slopes = import_module("x_transformers.x_transformers").AlibiPositionalBias._get_slopes
    yield "", "slopes of 1 … 64 heads", np.concatenate([alibi_slopes(H) for H in range(1, 65)]), np.concatenate(
        [slopes(H) for H in range(1, 65)]
    )


@compare("alibi", "transformers")
def _():
    every = range(1, 65)
    ours, n = np.concatenate([alibi_slopes(H) for H in every]), 5
    last = lambda alibi, H: np.asarray(alibi).reshape(H, -1)
    yield "", "Bloom, slopes of 1 … 64 heads", ours, np.concatenate(
        [last(model("bloom").build_alibi_tensor(torch.ones(1, n), H, torch.float32), H)[:, 1] for H in every]
    ), "adds slope·j; slope·i is the same along a row and softmax does not see it"
    yield "", "Falcon, slopes of 1 … 64 heads", ours, np.concatenate(
        [last(model("falcon").build_alibi_tensor(torch.ones(1, n), H, torch.float32), H)[:, 1] for H in every]
    ), "as Bloom; rounds the slopes to bfloat16", 2**-8
    yield "", "MPT, slopes of 1 … 64 heads", ours, np.concatenate(
        [-last(model("mpt").build_mpt_alibi_tensor(H, n), H)[:, -2] for H in every]
    ), "from the power of two above: its 2nd, 4th … slopes, then its 1st, 3rd …; the same numbers in the same order"


def t5_check(bucket, causal):
    far = [*range(2100), 4096, 100000]
    distances = np.array(far if causal else [-x for x in reversed(far)] + far)
    ours = np.array([t5_bucket(int(x), 32, 128, causal) for x in distances])
    return ours, bucket(torch.tensor(-distances))


@compare("t5", "transformers")
def _():
    attention_class = model("t5").T5Attention
    for causal in (True, False):
        yield f"causal={causal}".lower(), "buckets of distances to 100000", *t5_check(
            lambda x: attention_class._relative_position_bucket(x, bidirectional=not causal), causal
        )
    module = attention_class(config("t5", "T5Config", d_model=12, num_heads=3, d_kv=4, is_decoder=True), has_relative_attention_bias=True)
    module.relative_attention_bias.weight.data = tensor(Parameters()(32, 3))
    yield "scaled=false", "bias of 40 tokens", doors("t5", "scaled=false", 40)[1]["bias"], module.compute_bias(40, 40)[
        0
    ].detach(), "scores are not divided by √D"


@compare("t5", "x-transformers")
def _():
    m = import_module("x_transformers.x_transformers").RelativePositionBias
    for causal in (True, False):
        yield f"causal={causal}".lower(), "buckets of distances to 100000", *t5_check(
            lambda x: m._relative_position_bucket(x, causal=causal), causal
        )
    module = m(scale=2.0, causal=True, heads=3)
    module.relative_attention_bias.weight.data = tensor(Parameters()(32, 3))
    yield "", "bias of 40 tokens", doors("t5", "", 40)[1]["bias"], module(
        40, 40
    ).detach() / 2, "multiplies the table by √D; divided out here"


@compare("t5", "torchscale")
def _():
    m = import_module("torchscale.component.relative_position_bias").RelativePositionBias
    for causal in (True, False):
        yield f"causal={causal}".lower(), "buckets of distances to 100000", *t5_check(
            lambda x: m._relative_position_bucket(x, bidirectional=not causal), causal
        )


@compare("dynamic_bias", "x-transformers")
def _():
    for logarithm in (True, False):
        p = Parameters()
        module = import_module("x_transformers.x_transformers").DynamicPositionBias(3, heads=3, depth=2, log_distance=logarithm)
        for layer in (module.mlp[0][0], module.mlp[1][0], module.mlp[2]):
            layer.weight.data, layer.bias.data = tensor(p(*layer.weight.shape)), tensor(p(*layer.bias.shape))
        options = f"logarithm={logarithm}".lower()
        yield options, "bias of 9 tokens", doors("dynamic_bias", options, 9, causal=False)[1]["bias"], module(
            9, 9
        ).detach(), "depth=2; no layer norm, as by default"


@compare("cope", "x-transformers")
def _():
    s, term, _ = terms("cope", "positions=3", 9, head_dim=5, width=7)
    q, k, _, _ = states(s, 9)
    raw = tensor(np.einsum("ihd,jhd->hij", q, k) / 5**0.5).masked_fill(torch.ones(9, 9).triu(1).bool(), -1e30)
    module = import_module("x_transformers.x_transformers").CoPE(5, 3, 3)
    module.pos_emb.data = tensor(Parameters()(3, 5))
    yield "positions=3", "term of 9 tokens", lower(term), lower(
        module(tensor(q).transpose(0, 1)[None], raw[None])[0].detach()
    ), "gates by the scaled scores, as here without unscaled=true"


@compare("forget_gate", "x-transformers")
def _():
    s, term, _ = terms("forget_gate", "", 9, head_dim=5, width=7)
    p, module = Parameters(), import_module("x_transformers.x_transformers").DataDependentAlibi(7, 3)
    module.to_forget_gates[0].weight.data, module.to_forget_gates[0].bias.data = tensor(p(3, 7)), tensor(p(3))
    yield "", "DataDependentAlibi, term of 9 tokens", lower(term), lower(
        module(tensor(states(s, 9)[3])[None])[0].detach()
    ), "gate biases start at 5; ours at 0, as in the authors' code"


@compare("forget_gate", "flash-linear-attention")
def _():
    s, _, output = terms("forget_gate", "", 9, heads=4, kv_heads=2, head_dim=4)
    q, k, v, x = states(s, 9)
    p = Parameters()
    gates = torch.nn.functional.logsigmoid(tensor(x @ p(4, s.width).T + p(4)))
    theirs = import_module("fla.ops.forgetting_attn.naive").naive_forgetting_attn(
        *(tensor(t)[None] for t in (q, k[:, ::2], v[:, ::2])), gates[None]
    )[0]
    yield "", "naive_forgetting_attn, output of 9 tokens", output, theirs


@compare("path", "flash-linear-attention")
def _():
    s, _, output = terms("path", "", 9, heads=4, kv_heads=2, head_dim=4)
    q, k, v, x = states(s, 9)
    p = Parameters()
    w, u, b = p(8, s.width), p(2, s.width), p(2)
    direction = tensor(x @ w.T).reshape(9, 2, 4)
    direction = direction * torch.rsqrt((direction**2).sum(-1, keepdim=True) + 1e-6)
    beta = 2 * torch.sigmoid(tensor(x @ u.T + b))
    theirs = import_module("fla.ops.path_attn.naive").naive_path_attn(
        *(tensor(t)[None] for t in (q, k[:, ::2], v[:, ::2])), direction[None], beta[None], torch.zeros(1, 9, 4), 0.5, chunk_size=4
    )[0]
    yield "", "naive_path_attn, output of 9 tokens", output, theirs, "its layer also has a low-rank projection and a short convolution for w"


@compare("pope", "PoPE-pytorch")
def _():
    s, term, _ = terms("pope", "", 9, head_dim=5, width=7)
    pope = import_module("PoPE_pytorch").PoPE(5, heads=3)
    freqs, _ = pope(9)
    q, k = pope.apply_pope_to_qk(
        type(pope(9))(freqs, tensor(Parameters()(3, 5))), *(tensor(t).transpose(0, 1)[None] for t in states(s, 9)[:2])
    )
    yield "", "scores of 9 tokens", term, (q @ k.transpose(-1, -2))[
        0
    ].detach() / 5**0.5, "the offset is added to the key's angle: cos((j − i)·θ + δ), clamped to [−2π, 0] on use"


@compare("pope", "x-transformers")
def _():
    s, term, _ = terms("pope", "", 9, head_dim=5, width=7)
    m = import_module("x_transformers.x_transformers")
    freqs, _ = m.PolarEmbedding(5, 3)(torch.arange(9))
    q, k, _, _ = (tensor(t).transpose(0, 1)[None] if t.ndim == 3 else t for t in states(s, 9))
    q, k = m.apply_polar_pos_emb(q, freqs), m.apply_polar_pos_emb(k, freqs + tensor(Parameters()(3, 5))[:, None])
    yield "", "scores of 9 tokens", term, (q @ k.transpose(-1, -2))[0].detach() / 5**0.5, "the same sign of the offset"


@compare("deberta", "transformers")
def _():
    H, D, K, N = 3, 4, 8, 6
    s, term, _ = terms("deberta", f"clip={K}", N, heads=H, head_dim=D, causal=False)
    q, k, _, _ = states(s, N)
    m = model("deberta")
    module = m.DisentangledSelfAttention(
        config(
            "deberta",
            "DebertaConfig",
            hidden_size=H * D,
            num_attention_heads=H,
            relative_attention=True,
            max_relative_positions=K,
            pos_att_type=["c2p", "p2c"],
        )
    ).eval()
    p = Parameters()
    keys, queries = p(2 * K, H * D), p(2 * K, H * D)
    queries = np.vstack([queries[:1], queries[1:][::-1]])  # row r for distance r − K; the code reads the row of the opposite distance
    bias = np.zeros((1, H, N, N))
    qt, kt = (tensor(t).transpose(0, 1)[None] for t in (q, k))
    for kind, table in (("c2p", keys), ("p2c", queries)):
        module.pos_att_type = [kind]
        module.pos_proj, module.pos_q_proj = (torch.nn.Identity(),) * 2
        bias = (
            bias
            + module.disentangled_att_bias(qt / (3 * D) ** 0.5, kt, m.build_relative_position(qt, kt), tensor(table), 3).detach().numpy()
        )
    yield f"clip={K}", f"term of {N} tokens", term, bias[
        0
    ], "the paper has Qr[δ(j, i)] and so have we; the code reads Qr[δ(i, j)]: the same table in the opposite order (rows 1 … 2K − 1 turned round)"


@compare("transformer_xl", "transformers")
def _():
    H, D, N = 3, 4, 7
    s, term, _ = terms("transformer_xl", "", N, heads=H, head_dim=D, causal=False)
    q, k, _, _ = states(s, N)
    xl = model("xlnet")
    module = xl.XLNetRelativeAttention(config("xlnet", "XLNetConfig", d_model=H * D, n_head=H, d_inner=8)).eval()
    p = Parameters()
    u, v, w = p(H, D), p(H, D), p(H * D, H * D).reshape(H, D, H * D)
    frequencies = 10000.0 ** (-2 * np.arange(H * D // 2) / (H * D))
    angles = np.arange(N, -N, -1.0)[:, None] * frequencies
    r = np.einsum("hdc,rc->rhd", w, np.concatenate([np.sin(angles), np.cos(angles)], -1))
    bd = module.rel_shift_bnij(torch.einsum("ibnd,jbnd->bnij", tensor(q + v)[:, None], tensor(r)[:, None]), klen=N)[0]
    ac = np.einsum("hd,jhd->hj", u, k)[:, None]
    yield "", "XLNet's relative shift, term of 7 tokens", term, (
        np.asarray(bd) + ac
    ) * module.scale, "no Transformer-XL in this version any more; XLNet keeps its shift and scale"


@compare("shaw", "transformers")
def _():
    H, D, N, K = 2, 3, 7, 2
    s, term, _ = terms("shaw", f"clip={K}", N, heads=H, head_dim=D, causal=False)
    m = model("wav2vec2_bert")
    table = torch.nn.Embedding(2 * K + 1, D)
    table.weight.data = tensor(Parameters()(2 * K + 1, D))
    like = types.SimpleNamespace(left_max_position_embeddings=K, right_max_position_embeddings=K, distance_embedding=table, scaling=D**-0.5)
    qt, kt = (tensor(t).transpose(0, 1)[None] for t in states(s, N)[:2])
    yield f"clip={K}", "Wav2Vec2-BERT relative_key, term of 7 tokens", term, m._apply_relative_key_position_encoding(like, qt, kt)[1][
        0
    ].detach(), "keys only; values have no table there"
