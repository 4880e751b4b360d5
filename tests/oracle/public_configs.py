"""How models pair the dimensions that turn, and what their configs may leave out, beside the lists of ropeFromConfig."""

import re
from pathlib import Path

import torch
from transformers import CONFIG_MAPPING

from public import MODELS, compare, model


def pairs_neighbours(rotate):
    """Whether dimensions 0 and 1 turn together, by q·k of unit vectors; none: neither they nor the halves."""
    unit = lambda place: torch.eye(8)[place].reshape(1, 1, 1, 8)
    meets = lambda place: abs(torch.sum(rotate(unit(0), 1) * rotate(unit(place), 0)).item()) > 0.5
    return True if meets(1) else False if meets(4) else None


def trial(function, form):
    """x [1, 1, 1, 8] turned by a right angle (sine 1) or not at all (sine 0), in one of the forms that models call it in."""

    def rotate(x, sine):
        if form == "complex":
            return function(x, x, torch.full((1, 1, 4), complex(1 - sine, sine)))[0]
        cos, sin = torch.full((1, 1, form[1]), 1.0 - sine), torch.full((1, 1, form[1]), float(sine))
        return function(x, x, cos, sin)[0] if form[0] == "two" else function(x, *((cos, sin) if form[0] == "one" else (sin, cos)))

    return rotate


def rotates_neighbours(name):
    """For the functions of a model's code that turn queries and keys of text: the set of answers."""
    module, answers = model(name), set()
    for key, function in vars(module).items():
        if not re.match(r"apply_rotary_(pos_)?emb(_interleave)?$", key) or not callable(function):
            continue
        for form in ("complex", ("two", 8), ("two", 4), ("one", 4), ("swapped", 4)):
            try:
                answer = pairs_neighbours(trial(function, form))
            except Exception:  # not called in this form
                continue
            if answer is not None:
                answers.add(answer)
                break
    return answers


def roformer(name):
    function = model(name).RoFormerSelfAttention.apply_rotary_position_embeddings
    angle = lambda sine: torch.tensor([[[[float(sine)] * 4 + [1.0 - sine] * 4]]])
    return {pairs_neighbours(lambda x, sine: function(angle(sine), x, x)[0])}


def sources():
    """Name and text of each model's code."""
    for path in sorted(MODELS.glob("*/modeling_*.py")):
        if path.name == f"modeling_{path.parent.name}.py":
            yield path.parent.name, path.read_text()


OURS = (Path(__file__).parents[2] / "bindings" / "rope-config.ts").read_text()


def listed(name):
    """A list of bindings/rope-config.ts."""
    return set(re.findall(r"'(\w+)'", re.search(rf"const {name} = \[(.*?)\]", OURS, re.S)[1]))


def defaults():
    """What bindings/rope-config.ts takes where a config is silent: [(model type, what, number)], without those that it refuses."""
    table = re.search(r"const DEFAULTS[^=]*= \{(.*?)\n\};", OURS, re.S)[1]
    for name, body in re.findall(r"'?([\w-]+)'?: \{ ([^}]*) \}", table):
        yield from ((name, key, float(value)) for key, value in re.findall(r"(\w+): ([\d.e]+)", body))


def taken(name):
    """The same of a model's class."""
    kind = next(kind for kind in (f"{name}_text", f"{name}_text_model", name) if kind in CONFIG_MAPPING)
    config = CONFIG_MAPPING[kind]().get_text_config()
    rope = getattr(config, "rope_parameters", None) or {}
    full, sliding = rope.get("full_attention", rope), rope.get("sliding_attention", {})
    at = [i for i, layer in enumerate(getattr(config, "layer_types", None) or []) if layer == "full_attention"]
    return {
        "theta": full.get("rope_theta"),
        "local": sliding.get("rope_theta"),
        "headDim": getattr(config, "qk_rope_head_dim", None) or getattr(config, "head_dim", None),
        "fraction": full.get("partial_rotary_factor"),
        "rotaryDim": getattr(config, "rotary_dim", None),
        "every": at[1] - at[0] if len(at) > 1 else None,
    }


def agree(ours, theirs):
    """Both sets as vectors over all names; those in one alone are printed."""
    for name in sorted(ours ^ theirs):
        print(f"# {name}: {'only in our list' if name in ours else 'missing in our list'}")
    names = sorted(ours | theirs)
    return [name in ours for name in names], [name in theirs for name in names]


MATCHES_IMAGES = {"efficientloftr", "lightglue"}  # no language models


@compare("ropeFromConfig", "transformers")
def _():
    mark = re.compile(r"\[\.\.\., 0?::2\]|\[:, :, :, ::2\]|view_as_complex")
    found = set()
    for name, source in sources():
        if "def apply_rotary" not in source or not mark.search(source):
            continue
        answers = {"roformer": roformer}.get(name, rotates_neighbours)(name)
        if answers == {True} or answers == {True, False} and "apply_rotary_pos_emb_interleave(q_rot, k_rot" in source:
            found.add(name)
    yield "pairing=interleaved", "model types that turn neighbours together", *agree(
        listed("INTERLEAVED"), found - MATCHES_IMAGES
    ), "`rope_interleave` in a config goes before the list"
    answers = {
        name: rotates_neighbours(name) == {False} for name in ("llama", "gpt_neox", "gpt_oss", "qwen2", "phi3", "minicpm3", "gemma2")
    }
    yield "pairing=half", f"{', '.join(answers)}: they turn halves", [True] * len(answers), list(answers.values())


@compare("ropeFromConfig", "transformers")
def _():
    found = {name for name, source in sources() if "self.scaling = yarn_apply_mscale(" in source}
    yield "score_correction=true", "model types whose scores take the square of YaRN's gain (by their source)", *agree(
        listed("CORRECTED"), found
    )


@compare("ropeFromConfig", "transformers")
def _():
    ours = list(defaults())
    theirs = [taken(name)[key] for name, key, _ in ours]
    for (name, key, value), other in zip(ours, theirs):
        if value != other:
            print(f"# {name}: {key} is {value} in our list, {other} in the class")
    types = len({name for name, _, _ in ours})
    yield "", f"what configs of {types} model types may leave out: bases, heads, shares that turn", [
        value for _, _, value in ours
    ], [float("nan") if other is None else other for other in theirs]
