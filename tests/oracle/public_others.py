"""What enters at the input, patterns and scales."""

from importlib import import_module

import numpy as np
import torch

from make_goldens import wave
from public import compare, config, doors, model, tensor
from references import Parameters


@compare("sinusoidal", "transformers")
def _():
    n, d = 64, 12
    marian = model("marian").MarianSinusoidalPositionalEmbedding(n, d)
    yield "layout=concatenated", "Marian", doors("sinusoidal", "layout=concatenated", n, width=d)[1]["input"], marian.create_weight()
    distil = model("distilbert")._create_sinusoidal_embeddings(n, d, torch.zeros(n, d))
    yield "layout=interleaved", "DistilBERT", doors("sinusoidal", "", n, width=d)[1]["input"], distil
    m2m = model("m2m_100").M2M100SinusoidalPositionalEmbedding.get_embedding(n, d)
    yield "layout=half_minus_1", "M2M100", doors("sinusoidal", "layout=half_minus_1", n, width=d)[1][
        "input"
    ], m2m, "counts from padding_idx + 1 = 2"


@compare("sinusoidal", "x-transformers")
def _():
    theirs = import_module("x_transformers.x_transformers").ScaledSinusoidalEmbedding(12)(torch.zeros(1, 64, 12)).detach()
    yield "layout=concatenated", "ScaledSinusoidalEmbedding", doors("sinusoidal", "layout=concatenated", 64, width=12)[1][
        "input"
    ], theirs * 12**0.5, "learns a factor, at first 1/√d, where ours multiplies the embedding by √d"


@compare("learned", "transformers")
def _():
    table = Parameters()(8, 5)
    opt = model("opt").OPTLearnedPositionalEmbedding(8, 5)
    opt.weight.data = tensor(np.vstack([np.full((2, 5), 9.0), table]))
    yield "", "OPT", doors("learned", "", 8, width=5)[1]["input"], opt(torch.ones(1, 8, dtype=torch.long))[
        0
    ].detach(), "two rows stand before position 0: leave them out"
    ids = model("roberta").RobertaEmbeddings.create_position_ids_from_input_ids(torch.full((1, 8), 7), 1)
    yield "", "RoBERTa, position ids", np.arange(8), ids[0] - 2, "counts from padding_idx + 1 = 2: leave two rows out"


@compare("learned", "torch")
def _():
    for n in (9, 20):
        theirs = torch.nn.functional.interpolate(tensor(Parameters()(8, 5)).T[None], size=n, mode="linear", align_corners=False)[0].T
        yield "overflow=interpolate", f"interpolate(mode=linear), 8 rows to {n}", doors("learned", "overflow=interpolate", n, width=5)[1][
            "input"
        ], theirs


@compare("conditional", "torch")
def _():
    p = Parameters()
    w, b, N, d = p(3, 5), p(1, 5), 9, 5
    x = wave((N, d), 0.61, 0.4)
    for causal in (True, False):
        padded = torch.nn.functional.pad(tensor(x).T[None], (2, 0) if causal else (1, 1))
        theirs = torch.nn.functional.conv1d(padded, tensor(w).T[:, None], tensor(b[0]), groups=d)[0].T
        yield f"causal={causal}".lower(), "depthwise conv1d", doors("conditional", "", N, width=d, causal=causal)[1]["mixed"], theirs


@compare("window", "transformers")
def _():
    N, w = 12, 4
    overlay = import_module("transformers.masking_utils").sliding_window_overlay(w)
    ours = doors("window", f"width={w}", N)[1]["seen"]
    yield f"width={w}", f"sliding_window={w} (Mistral, Gemma …)", ours, [
        [overlay(0, 0, i, j) and j <= i for j in range(N)] for i in range(N)
    ], "the query counts as one of them, as with us"
    neo = model("gpt_neo").GPTNeoSelfAttention(
        config(
            "gpt_neo",
            "GPTNeoConfig",
            hidden_size=8,
            num_heads=2,
            window_size=w,
            max_position_embeddings=N,
            num_layers=2,
            attention_types=[[["global", "local"], 1]],
        ),
        "local",
    )
    yield f"width={w}", f"GPT-Neo, window_size={w}", ours, neo.bias[0, 0], "the query counts as one of them"


def local(N, ours, **settings):
    """Output of equal scores: the mean of what is seen."""
    v = wave((N, 1), 0.51, 0.3)
    module = import_module("local_attention").LocalAttention(causal=True, use_rotary_pos_emb=False, **settings)
    theirs = module(torch.zeros(1, N, 1), torch.zeros(1, N, 1), tensor(v)[None])[0]
    return ours / ours.sum(1, keepdims=True) @ v, theirs


@compare("window", "local-attention")
def _():
    yield "width=5", "window_size=4, exact_windowsize", *local(
        12, doors("window", "width=5", 12)[1]["seen"], window_size=4, exact_windowsize=True
    ), "sees 4 before the query: one more than a window of 4 elsewhere"


@compare("blocks", "local-attention")
def _():
    yield "size=4", "window_size=4", *local(
        12, doors("blocks", "size=4", 12)[1]["seen"], window_size=4
    ), "its windows are blocks: the own one and the one before"


@compare("blocks", "transformers")
def _():
    overlay = import_module("transformers.masking_utils").chunked_overlay(4, torch.zeros(1, dtype=torch.long))
    yield "size=4:back=0", "attention_chunk_size=4 (Llama 4)", doors("blocks", "size=4:back=0", 12)[1]["seen"], [
        [overlay(0, 0, i, j) and j <= i for j in range(12)] for i in range(12)
    ]


@compare("temperature", "transformers")
def _():
    floor, slope, N = 4, 0.5, 20
    ours = doors("temperature", f"floor={floor}:slope={slope}", N, heads=1)[1]["scale"][0]
    llama4, widths = model("llama4"), {}
    for tuned in (False, True):
        cfg = config(
            "llama4",
            "Llama4TextConfig",
            hidden_size=8,
            num_attention_heads=1,
            num_key_value_heads=1,
            head_dim=8,
            no_rope_layers=[0],
            num_hidden_layers=1,
            floor_scale=floor,
            attn_scale=slope,
            attn_temperature_tuning=tuned,
            attn_implementation="eager",
        )
        torch.manual_seed(0)
        module = llama4.Llama4TextAttention(cfg, 0)
        mask = torch.full((N, N), -torch.inf).triu(1)[None, None]
        logits = module(tensor(3 * wave((N, 8), 0.61, 0.4))[None], None, mask)[1][0, 0].detach().double().log()
        widths[tuned] = [(row[: i + 1].max() - row[: i + 1].min()).item() for i, row in enumerate(logits)]
    yield f"floor={floor}:slope={slope}", "Llama 4, spread of the logits of each row but the first", ours[1:], np.array(
        widths[True][1:]
    ) / widths[False][1:], "", 1e-4
    theirs = model("ministral3").get_llama_4_attn_scale(torch.arange(1, N + 1)[None], slope, floor).flatten()
    yield f"floor={floor}:slope={slope}", "Ministral 3, get_llama_4_attn_scale", ours, theirs, "steps at p = floor, one position later than Llama 4 (⌊p/floor⌋, not ⌊(p + 1)/floor⌋); shifted here"
