"""Rotary encodings."""

from importlib import import_module

import numpy as np
import torch

from make_goldens import wave
from public import compare, config, doors, model, relative, rotated, states, tensor


@compare("rope", "transformers")
def _():
    n, D = 64, 16
    q = wave((n, 2, D), 0.37, 0.1)
    t = tensor(q).transpose(0, 1)[None]
    llama, neox, gptj = model("llama"), model("gpt_neox"), model("gptj")
    emb = llama.LlamaRotaryEmbedding(config("llama", "LlamaConfig", hidden_size=2 * D, num_attention_heads=2))
    theirs = llama.apply_rotary_pos_emb(t, t, *emb(t, torch.arange(n)[None]))[0][0].transpose(0, 1)
    yield "pairing=half", "Llama, q rotated", rotated(q, doors("rope", "pairing=half", n, head_dim=D)[1]), theirs
    cfg = config(
        "gpt_neox",
        "GPTNeoXConfig",
        hidden_size=2 * D,
        num_attention_heads=2,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25},
    )
    theirs = neox.apply_rotary_pos_emb(t, t, *neox.GPTNeoXRotaryEmbedding(cfg)(t, torch.arange(n)[None]))[0][0].transpose(0, 1)
    yield "pairing=half:fraction=0.25", "GPT-NeoX, q rotated", rotated(
        q, doors("rope", "pairing=half:fraction=0.25", n, head_dim=D)[1]
    ), theirs
    sin, cos = gptj.create_sinusoidal_positions(n, D).split(D // 2, -1)
    yield "pairing=interleaved", "GPT-J, q rotated", rotated(q, doors("rope", "", n, head_dim=D)[1]), gptj.apply_rotary_pos_emb(
        tensor(q)[None], sin[None], cos[None]
    )[0]
    yield (
        "",
        "Llama, cosines at 131071",
        np.cos(doors("rope", "", [131071], head_dim=D)[1]["angles"]),
        emb(t, torch.tensor([[131071]]))[0][0, :, : D // 2],
        "its angles are float32 products, which tell from far out; ours are computed in double",
        0.01,
    )


@compare("rope", "x-transformers")
def _():
    m, n = import_module("x_transformers.x_transformers"), 64
    q = wave((n, 2, 16), 0.37, 0.1)
    freqs, _ = m.RotaryEmbedding(8)(torch.arange(n))
    theirs = m.apply_rotary_pos_emb(tensor(q).transpose(0, 1)[None], freqs)[0].transpose(0, 1)
    yield "pairing=interleaved:fraction=0.5", "RotaryEmbedding, q rotated", rotated(
        q, doors("rope", "fraction=0.5", n, head_dim=16)[1]
    ), theirs, "turns half the head unless told otherwise"
    yield "factor=4", "interpolation_factor", doors("rope", "factor=4", n, head_dim=8)[1]["angles"], m.RotaryEmbedding(
        8, interpolation_factor=4.0
    )(torch.arange(n))[0][0, :, ::2]


@compare("rope", "rotary-embedding-torch")
def _():
    m, n = import_module("rotary_embedding_torch"), 64
    q = wave((n, 2, 8), 0.37, 0.1)
    turn = lambda **more: m.RotaryEmbedding(8, **more).rotate_queries_or_keys(tensor(q).transpose(0, 1)[None])[0].transpose(0, 1).detach()
    yield "pairing=interleaved", "RotaryEmbedding, q rotated", rotated(q, doors("rope", "", n, head_dim=8)[1]), turn()
    yield "factor=4", "interpolate_factor", rotated(q, doors("rope", "factor=4", n, head_dim=8)[1]), turn(interpolate_factor=4.0)


@compare("ntk", "x-transformers")
def _():
    m = import_module("x_transformers.x_transformers")
    yield "factor=4", "base_rescale_factor", *relative(
        doors("ntk", "factor=4", [1], head_dim=64)[1]["angles"][0], m.RotaryEmbedding(64, base_rescale_factor=4.0).inv_freq
    )


@compare("ntk", "rotary-embedding-torch")
def _():
    m = import_module("rotary_embedding_torch")
    yield "factor=4", "theta_rescale_factor", *relative(
        doors("ntk", "factor=4", [1], head_dim=64)[1]["angles"][0], m.RotaryEmbedding(64, theta_rescale_factor=4.0).freqs.detach()
    )


def rope_utilities(name, kind, options, seq_len=None, head_dim=64, longest=4096, **block):
    """Frequencies and gain by the rope utilities, ours beside theirs."""
    init = import_module("transformers.modeling_rope_utils").ROPE_INIT_FUNCTIONS[kind]
    cfg = config(
        "llama",
        "LlamaConfig",
        hidden_size=head_dim,
        num_attention_heads=1,
        max_position_embeddings=longest,
        rope_parameters={"rope_type": kind, "rope_theta": 10000.0, **block},
    )
    frequencies, gain = init(cfg, seq_len=seq_len)
    d = doors(name, options, [1], seq_len, heads=1, head_dim=head_dim)[1]
    return relative(np.append(d["angles"][0], d.get("gain", 1)), np.append(np.asarray(frequencies), gain))


@compare("rope", "transformers")
def _():
    yield "factor=4", "rope_type linear", *rope_utilities("rope", "linear", "factor=4", factor=4.0)
    yield "proportional=true:fraction=0.25", "rope_type proportional", *rope_utilities(
        "rope", "proportional", "proportional=true:fraction=0.25", partial_rotary_factor=0.25
    )


@compare("dynamic_ntk", "transformers")
def _():
    for n in (1, 4095, 4096, 4097, 16384):
        yield "factor=2", f"rope_type dynamic, length {n} (L 4096)", *rope_utilities(
            "dynamic_ntk", "dynamic", "factor=2:original=4096", n, factor=2.0
        )
    llama = model("llama")
    cfg = config(
        "llama",
        "LlamaConfig",
        hidden_size=8,
        num_attention_heads=1,
        max_position_embeddings=8,
        rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0},
    )
    emb = llama.LlamaRotaryEmbedding(cfg)
    cosines = lambda n: emb(torch.zeros(1), torch.arange(n)[None])[0][0, :, :4]
    ours = lambda n, present: np.cos(doors("dynamic_ntk", "factor=2", n, present, head_dim=8, trained_length=8)[1]["angles"])
    yield "factor=2", "Llama module, 20 tokens (L 8)", ours(20, 20), cosines(20)
    yield "factor=2", "Llama module, 8 tokens (= L) after 20", ours(8, 20), cosines(
        8
    ), "keeps the longest length seen until fewer than L tokens come; ours goes by the tokens present"
    yield "factor=2", "Llama module, 7 tokens after that", ours(7, 7), cosines(7)


@compare("ntk", "transformers")
def _():
    cfg = config(
        "hunyuan_v1_dense",
        "HunYuanDenseV1Config",
        head_dim=64,
        rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0, "alpha": 1000.0, "factor": 1.0},
    )
    theirs = model("hunyuan_v1_dense").HunYuanDenseV1RotaryEmbedding(cfg).inv_freq
    yield "factor=1000", "HunYuan, alpha 1000", *relative(
        doors("ntk", "factor=1000", [1], head_dim=64)[1]["angles"][0], theirs
    ), "called dynamic, with alpha for factor"


@compare("yarn", "transformers")
def _():
    base = {"factor": 32.0, "original_max_position_embeddings": 4096}
    yield "factor=32", "rope_type yarn", *rope_utilities("yarn", "yarn", "factor=32:original=4096", **base)
    yield "truncate=false", "truncate false", *rope_utilities(
        "yarn", "yarn", "factor=32:original=4096:truncate=false", **base, truncate=False
    )
    yield "beta_fast=64:beta_slow=2", "other borders", *rope_utilities(
        "yarn", "yarn", "factor=32:original=4096:beta_fast=64:beta_slow=2", **base, beta_fast=64.0, beta_slow=2.0
    )
    yield "mscale=0.707:mscale_all_dim=1", "mscale", *rope_utilities(
        "yarn", "yarn", "factor=32:original=4096:mscale=0.707:mscale_all_dim=1", **base, mscale=0.707, mscale_all_dim=1.0
    )
    yield "attention_factor=1.25", "attention_factor", *rope_utilities(
        "yarn", "yarn", "factor=32:original=4096:attention_factor=1.25", **base, attention_factor=1.25
    )
    deepseek = model("deepseek_v3")
    cfg = config(
        "deepseek_v3",
        "DeepseekV3Config",
        hidden_size=32,
        num_attention_heads=1,
        qk_nope_head_dim=16,
        qk_rope_head_dim=16,
        v_head_dim=16,
        rope_parameters={
            "rope_type": "yarn",
            "rope_theta": 10000.0,
            "factor": 40.0,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
            "original_max_position_embeddings": 4096,
        },
    )
    d = doors("yarn", "factor=40:original=4096:mscale_all_dim=1:score_correction=true", [1], heads=1, head_dim=32)[1]
    yield "score_correction=true", "DeepSeek-V3, factor on the scores", d["score_scale"], deepseek.DeepseekV3Attention(cfg, 0).scaling


@compare("longrope", "transformers")
def _():
    short, long = [1 + 0.01 * k for k in range(32)], [1.5 + 0.5 * k for k in range(32)]
    lists = f":short_factor={';'.join(map(str, short))}:long_factor={';'.join(map(str, long))}"
    for n in (4096, 4097):
        yield "factor=32", f"rope_type longrope, length {n} (L 4096)", *rope_utilities(
            "longrope",
            "longrope",
            "factor=32:original=4096" + lists,
            n,
            longest=131072,
            short_factor=short,
            long_factor=long,
            factor=32.0,
            original_max_position_embeddings=4096,
        )


@compare("llama3", "transformers")
def _():
    yield "factor=8", "rope_type llama3", *rope_utilities(
        "llama3",
        "llama3",
        "original=8192",
        longest=131072,
        factor=8.0,
        low_freq_factor=1.0,
        high_freq_factor=4.0,
        original_max_position_embeddings=8192,
    )


def both_sides(n, options, head_dim=8):
    s, d = doors("xpos", options, n, head_dim=head_dim, heads=2)
    q, k = states(s, n)[:2]
    return q, k, np.stack([rotated(q, d), rotated(k, d, "key_")])


@compare("xpos", "torchscale")
def _():
    for n in (8, 9):
        q, k, ours = both_sides(n, f"center={(n + 1) // 2}")
        xpos, flat = import_module("torchscale.component.xpos_relative_position").XPOS(8), lambda x: tensor(x).transpose(0, 1)
        theirs = torch.stack([xpos(flat(q)).transpose(0, 1), xpos(flat(k), downscale=True).transpose(0, 1)])
        yield f"center={(n + 1) // 2}", f"XPOS (the authors'), q and k of {n} tokens", ours, theirs, "the centre moves with the length: ⌈N/2⌉; ours stays where `center` says (default 0)"


@compare("xpos", "rotary-embedding-torch")
def _():
    q, k, ours = both_sides(9, "center=4")
    emb = import_module("rotary_embedding_torch").RotaryEmbedding(8, use_xpos=True)
    theirs = torch.stack([x[0].transpose(0, 1) for x in emb.rotate_queries_and_keys(*(tensor(x).transpose(0, 1)[None] for x in (q, k)))])
    yield "center=4", "use_xpos, q and k of 9 tokens", ours, theirs.detach(), "the centre moves with the length: ⌊N/2⌋"


@compare("xpos", "x-transformers")
def _():
    m = import_module("x_transformers.x_transformers")
    q, k, ours = both_sides(9, "center=4")
    freqs, scale = m.RotaryEmbedding(8, use_xpos=True)(torch.arange(9))
    theirs = torch.stack(
        [m.apply_rotary_pos_emb(tensor(x).transpose(0, 1)[None], freqs, z)[0].transpose(0, 1) for x, z in ((q, scale), (k, scale**-1))]
    )
    yield "center=4", "use_xpos, q and k of 9 tokens", ours, theirs, "the centre moves with the length: ⌊N/2⌋"


@compare("grid", "transformers")
def _():
    for name, kind, split in (("qwen2_vl", "Qwen2VL", "blocks"), ("qwen3_vl", "Qwen3VLText", "alternating")):
        s, d = doors("grid", f"dimensions=3:columns=2:rows=3:frames=2:text=1:split={split}", 16, head_dim=12)
        pairs = 6
        where = d["coordinates"][[0, 2, 4] if split == "blocks" else [0, 1, 2]]  # [3, N]: a pair of each third
        cfg = config(
            name,
            f"{kind}Config" if name == "qwen3_vl" else "Qwen2VLTextConfig",
            hidden_size=12,
            num_attention_heads=1,
            num_key_value_heads=1,
            head_dim=12,
            rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 2, 2]},
        )
        emb = getattr(model(name), "Qwen2VLRotaryEmbedding" if name == "qwen2_vl" else "Qwen3VLTextRotaryEmbedding")(cfg)
        cosines = emb(torch.zeros(1), torch.tensor(where, dtype=torch.long)[:, None])[0]
        yield f"split={split}", f"{name}, mrope_section in equal parts", np.cos(
            d["coordinates"].T * 10000.0 ** (-np.arange(pairs) / pairs)
        ), cosines.reshape(16, -1)[:, :pairs]
