// The rotary encoding of a Hugging Face config.json, in the spellings that files of all ages use.

import * as check from './check.js';
import type { EncodingShape, Pairing } from './encoding.js';
import type { EncodingTerm } from './spec.js';

/** What a config says about rotation: `lw.encoding(encoding, shape)` is it. */
export interface RopeConfig {
  encoding: EncodingTerm;
  /** `heads`, `kvHeads`, `headDim`, `trainedLength`, as far as the config tells. */
  shape: EncodingShape;
  /** The kind of scaling, in today's spelling. */
  type: RopeType;
  theta: number;
  /** How many dimensions of a head turn. */
  rotaryDim: number;
  /**
   * Of a model that turns pairs by frame, row and column (`mrope_section`, in equal shares): with `rows`, `columns` and `text`
   * added, `[grid, encoding]` is what an image needs. Text alone needs `encoding` only.
   */
  grid?: EncodingTerm;
  /** What of the config `encoding` does not say. */
  notice?: string;
}

export type RopeType = 'default' | 'linear' | 'dynamic' | 'ntk' | 'yarn' | 'longrope' | 'llama3' | 'proportional';

export interface RopeConfigOptions {
  /** Which layers, where the config tells them apart: 'full_attention', 'sliding_attention', … */
  layerType?: string;
  /** Default: as `rope_interleave` says; without it 'interleaved' for models known to pair neighbours, else 'half'. */
  pairing?: Pairing;
}

type Json = Record<string, unknown>;
interface Source { config: Json; block: Json; where: string; headDim: number; original: number | undefined; layerType: string | undefined }

// Model types whose code in transformers turns neighbours together; tests/oracle/compare_public.py asks that code.
const INTERLEAVED = [
  'axk1', 'axk2', 'bailing_hybrid', 'blt', 'codegen', 'cohere', 'cohere2', 'cohere2_moe', 'deepseek_v2', 'deepseek_v3', 'deepseek_v32', 'deepseek_v4',
  'dots3_note', 'ernie4_5', 'ernie4_5_moe', 'ernie4_5_vl_moe', 'glm', 'glm4', 'glm4_moe_lite', 'glm4v', 'glm_moe_dsa', 'glm_ocr', 'gptj', 'helium',
  'hy_v4_vl', 'llama4', 'longcat_flash', 'mistral4', 'mistral_large4', 'moonshine', 'moonshine_streaming', 'openai_privacy_filter', 'roformer', 'youtu',
];

// And those whose latent attention multiplies the scores by YaRN's gain of mscale_all_dim, squared.
const CORRECTED = [
  'axk1', 'axk2', 'bailing_hybrid', 'deepseek_v2', 'deepseek_v3', 'deepseek_v32', 'glm4_moe_lite', 'glm_moe_dsa', 'hy_v4', 'hy_v4_vl', 'longcat_flash',
  'minicpm3', 'mistral4', 'mistral_large4', 'youtu',
];

// Whose layers with full attention do not turn, where others slide.
const FULL_UNTURNED = ['cohere2', 'exaone4', 'exaone_moe'];

// Known to have other positions, or none.
const NOT_TURNING = [
  'albert', 'bart', 'bert', 'biogpt', 'bloom', 'ctrl', 'deberta', 'deberta-v2', 'distilbert', 'electra', 'gpt2', 'gpt_bigcode', 'gpt_neo', 'mamba', 'mamba2',
  'mbart', 'mpt', 'mt5', 'openai-gpt', 'opt', 'roberta', 'rwkv', 't5', 'transfo-xl', 'whisper', 'xglm', 'xlm-roberta', 'xlnet',
];

/** What the class of a model in transformers sets where its config is silent, and configs leave out what equals it. */
interface Defaults {
  /** rope_theta; null: releases differ. */
  theta?: number | null;
  /** rope_theta of sliding layers. */
  local?: number;
  headDim?: number;
  /** Share of a head that turns, or how many dimensions. */
  fraction?: number;
  rotaryDim?: number;
  /** Every so many layers one has full attention. */
  every?: number;
}
// From the configuration classes of transformers 4.57 and 5.24; tests/oracle/compare_public.py asks those.
const DEFAULTS: Record<string, Defaults> = {
  apertus: { theta: 12e6 }, bitnet: { theta: 5e5 }, codegen: { rotaryDim: 64 }, cohere: { theta: null }, cohere2: { every: 4 }, csm: { theta: 5e5 },
  deepseek_v2: { headDim: 64 }, deepseek_v3: { headDim: 64 }, emu3: { theta: 1e6 }, ernie4_5: { theta: 5e5, headDim: 128 }, ernie4_5_moe: { theta: 5e5 },
  evolla: { theta: 5e5 }, exaone: { theta: 5e5 }, exaone4: { every: 4 }, exaone_moe: { every: 4 }, falcon_h1: { theta: null }, flex_olmo: { theta: 5e5 },
  fuyu: { theta: null, fraction: 0.5 }, gemma: { headDim: 256 }, gemma2: { headDim: 256 }, gemma3: { theta: 1e6, local: 1e4, headDim: 256, every: 6 },
  gemma3n: { theta: 1e6, local: 1e4, headDim: 256, every: 5 }, glm: { headDim: 128, fraction: 0.5 }, glm4: { headDim: 128, fraction: 0.5 },
  glm4_moe: { fraction: 0.5 }, gpt_neox: { fraction: 0.25 }, gpt_oss: { theta: 15e4, headDim: 64 }, gptj: { rotaryDim: 64 },
  helium: { theta: 1e5, headDim: 128 }, lfm2: { theta: 1e6 }, llama4: { theta: 5e5, headDim: 128 }, longcat_flash: { theta: 1e7, headDim: 64 },
  minimax: { theta: 1e6 }, mixtral: { theta: 1e6 }, mllama: { theta: 5e5 }, modernbert: { theta: 16e4, local: 1e4, every: 3 },
  'modernbert-decoder': { theta: 16e4, local: 1e4, every: 3 }, moonshine: { fraction: 0.9 }, nemotron: { fraction: 0.5 }, olmo3: { theta: null },
  persimmon: { theta: null, fraction: 0.5 }, phi: { fraction: 0.5 }, phimoe: { theta: 1e6 }, qwen2_5_omni: { theta: 1e6 }, qwen2_5_vl: { theta: 1e6 },
  qwen2_vl: { theta: 1e6 }, qwen3: { headDim: 128 }, qwen3_next: { headDim: 256, fraction: 0.25 }, qwen3_omni_moe: { theta: 1e6 },
  qwen3_vl: { theta: null, headDim: 128 }, qwen3_vl_moe: { theta: null }, recurrent_gemma: { fraction: 0.5 }, seed_oss: { headDim: 128 },
  smollm3: { theta: 2e6 }, stablelm: { fraction: 0.25 }, vaultgemma: { headDim: 256 },
};

/** A word of a config. What is no text is put into words: converting it may throw. */
const word = (value: unknown) => (typeof value === 'string' ? value : check.describe(value));

const family = (config: Json) => word(config.model_type).replace(/_text(_model)?$/, '');
const isOneOf = (types: string[], config: Json) => types.includes(family(config));
const isModernBert = (config: Json) => family(config).startsWith('modernbert');
const defaultsOf = (config: Json): Defaults => (Object.hasOwn(DEFAULTS, family(config)) ? DEFAULTS[family(config)]! : {});

/**
 * Reads `rope_parameters`, `rope_scaling`, `rope_theta`, `partial_rotary_factor`, `rotary_dim`, `rotary_pct` and their like.
 * null, an empty block and 'default' all mean plain rotation; what is left out is what models of that `model_type` take,
 * else a base of 10000 and heads that turn as a whole. `mscale` and `mscale_all_dim` count only together for
 * the gain, as in transformers. For models with a separate rotary part (`qk_rope_head_dim`) the shape is that part.
 * @throws RangeError when something needed is missing, unknown, or said twice and differently; TypeError for a wrong kind.
 */
export function ropeFromConfig(config: object, options: RopeConfigOptions = {}): RopeConfig {
  check.keys('ropeFromConfig options', options, ['layerType', 'pairing']);
  if (options.layerType !== undefined) check.text('layerType', options.layerType);
  const own = textPart(record('config', config));
  const readings = blocks(own, options.layerType).map(({ block, where }) => read(own, block, where, options));
  const [first, ...others] = readings as [RopeConfig, ...RopeConfig[]];
  for (const other of others) {
    if (JSON.stringify(other) !== JSON.stringify(first)) throw new RangeError('rope_parameters and rope_scaling say different things; allowed: one of them, or both alike');
  }
  return first;
}

/**
 * The same for each layer, in order: by `layer_types`, by `sliding_window_pattern` or `global_attn_every_n_layers` (every
 * n-th is full), or all alike. A layer that does not turn has the encoding 'nope'.
 */
export function ropeLayersFromConfig(config: object, options: Omit<RopeConfigOptions, 'layerType'> = {}): RopeConfig[] {
  check.keys('ropeLayersFromConfig options', options, ['pairing']);
  const own = textPart(record('config', config));
  const kinds = layerKinds(own);
  const apart = layerTypes(own).length > 0 || Array.isArray(own.layer_types);
  const layers = kinds.map((layerType) => ropeFromConfig(own, apart ? { ...options, layerType } : options));
  const turning = turningLayers(own, kinds);
  return layers.map((layer, i) => (turning[i] ? layer : { ...layer, encoding: { name: 'nope' } }));
}

// Llama 4, SmolLM3: no_rope_layers says 1 where a layer turns; no_rope_layer_interval n: every n-th layer does not.
function turningLayers(own: Json, kinds: string[]): boolean[] {
  const given = own.no_rope_layers, count = kinds.length;
  if (Array.isArray(given) && given.length) {
    check.exactly('no_rope_layers', given.length, count, `${count} layers`);
    return given.map((turns) => check.choice('no_rope_layers', typeof turns === 'object' ? turns : String(Number(turns)), ['0', '1']) === '1');
  }
  if (isOneOf(FULL_UNTURNED, own) && own.sliding_window !== null) return kinds.map((kind) => kind === 'sliding_attention');
  const interval = size(own, ['no_rope_layer_interval']);
  return kinds.map((_, i) => !interval || (i + 1) % interval !== 0);
}

function layerKinds(own: Json): string[] {
  const types = own.layer_types, count = size(own, ['num_hidden_layers', 'n_layer']);
  if (Array.isArray(types)) {
    if (count !== undefined) check.exactly('layer_types', types.length, count, `${count} layers`);
    return types.map(word);
  }
  const layers = Array.from({ length: check.count('num_hidden_layers', own.num_hidden_layers ?? own.n_layer, 4096) }, (_, i) => i);
  const period = size(own, ['sliding_window_pattern', 'global_attn_every_n_layers']) ?? defaultsOf(own).every;
  if (period === undefined && layerTypes(own).length) throw new RangeError('sliding_window_pattern is missing; this config tells layers apart, but not which is which');
  const first = own.global_attn_every_n_layers !== undefined || isModernBert(own); // which counts from the first layer
  return layers.map((i) => (period === undefined || (first ? i : i + 1) % period === 0 ? 'full_attention' : 'sliding_attention'));
}

function read(config: Json, block: Json, where: string, options: RopeConfigOptions): RopeConfig {
  const heads = size(config, ['num_attention_heads', 'n_head']);
  const width = size(config, ['hidden_size', 'n_embd']);
  const usual = config.head_dim === undefined ? defaultsOf(config).headDim : undefined; // null: by width
  const headDim = size(config, ['qk_rope_head_dim']) ?? size(config, ['head_dim']) ?? usual ?? derived(width, heads);
  const original = size(block, ['original_max_position_embeddings'], where) ?? size(config, ['original_max_position_embeddings']);
  const source: Source = { config, block, where, headDim, original, layerType: options.layerType };
  if (isOneOf(NOT_TURNING, config)) throw new RangeError(`model_type is '${word(config.model_type)}'; allowed: a config of a model that rotates`);
  if (config.alibi === true) throw new RangeError('alibi is true; allowed: a config of a model that rotates');
  const kind = config.position_embedding_type;
  if (kind !== undefined && kind !== null && !/^(rope|rotary)$/.test(word(kind)) && !isModernBert(config)) { // whose files say 'absolute'
    throw new RangeError(`position_embedding_type is ${check.describe(kind)}; allowed: a config of a model that rotates, 'rope' or 'rotary'`);
  }
  const type = typeOf(block, where);
  const theta = thetaOf(source);
  const rotaryDim = rotaryDimOf(source);
  const interleaved = check.flag('rope_interleave', config.rope_interleave ?? isOneOf(INTERLEAVED, config));
  const pairing = options.pairing ?? (interleaved ? 'interleaved' : 'half');
  const encoding: EncodingTerm = { ...READERS[type](source), base: theta, pairing: check.choice('pairing', pairing, ['interleaved', 'half']) };
  if (rotaryDim !== headDim) encoding.fraction = rotaryDim / headDim;
  const shape: EncodingShape = { headDim };
  if (heads !== undefined) shape.heads = heads;
  const one = config.multi_query === true && config.new_decoder_architecture !== true; // Falcon
  const kvHeads = size(config, ['num_key_value_heads']) ?? (one ? 1 : size(config, ['num_kv_heads']));
  if (kvHeads !== undefined && heads !== undefined) shape.kvHeads = kvHeads;
  const trained = original ?? size(config, ['max_position_embeddings', 'n_positions']);
  if (trained !== undefined) shape.trainedLength = trained;
  return { encoding, shape, type, theta, rotaryDim, ...sectionsOf(source, rotaryDim / 2) };
}

// Inside or at the top; a block for one type of layer may differ from what the top says of all.
function thetaOf({ config, block, where, layerType }: Source): number {
  const found: [string, number][] = [];
  const note = (name: string, value: number | undefined) => { if (value !== undefined) found.push([name, value]); };
  note(`${where}.rope_theta`, number(block, ['rope_theta'], where));
  if (!found.length || /^rope_(parameters|scaling)$/.test(where)) for (const key of ['rope_theta', 'rotary_emb_base']) note(key, number(config, [key]));
  const [first, ...others] = found;
  for (const [name, value] of others) {
    if (value !== first![1]) throw new RangeError(`${first![0]} is ${first![1]} and ${name} is ${value}; allowed: both alike, or one of them`);
  }
  if (first) return first[1];
  const { theta, local } = defaultsOf(config);
  if (theta === null) throw new RangeError(`rope_theta is missing; models of type '${family(config)}' had different ones before and after transformers 5`);
  return (layerType === 'sliding_attention' ? local : undefined) ?? theta ?? 10000;
}

// M-RoPE gives each coordinate a section of the pairs.
function sectionsOf({ block, where }: Source, pairs: number): { grid?: EncodingTerm; notice?: string } {
  const name = `${where}.mrope_section`;
  if (block.mrope_section === undefined || block.mrope_section === null) return {};
  const sections = Array.from(check.numbers(name, block.mrope_section), (n, i) => check.count(`${name}[${i}]`, n));
  const all = sections.reduce((a, b) => a + b, 0);
  if (all !== pairs) throw new RangeError(`${name} has ${all} pairs in all; allowed: ${pairs}`);
  const dimensions = sections.length, split = check.flag(`${where}.mrope_interleaved`, block.mrope_interleaved ?? false) ? 'alternating' : 'blocks';
  if ((dimensions === 2 || dimensions === 3) && sections.every((n) => n === sections[0])) return { grid: { name: 'grid', dimensions, split } };
  return { notice: `${name} is [${sections.join(', ')}]: pairs of image tokens turn by several coordinates; the encoding is that of text, where they are equal, and grid has equal shares only` };
}

// What each type needs of its block, and the encoding it is.
const READERS: Record<RopeType, (source: Source) => EncodingTerm> = {
  default: () => ({ name: 'rope' }),
  linear: (s) => ({ name: 'rope', factor: needed(s, 'factor') }),
  proportional: (s) => ({ name: 'rope', proportional: true, factor: number(s.block, ['factor'], s.where) ?? 1 }),
  ntk: (s) => ({ name: 'ntk', factor: needed(s, 'factor') }),
  dynamic: (s): EncodingTerm => number(s.block, ['alpha'], s.where) === undefined
    ? { name: 'dynamic_ntk', factor: needed(s, 'factor'), original: originalOf(s) }
    : { name: 'ntk', factor: needed(s, 'alpha') }, // Hunyuan: a fixed base
  llama3: (s) => ({
    name: 'llama3', factor: needed(s, 'factor'), low: needed(s, 'low_freq_factor'), high: needed(s, 'high_freq_factor'), original: originalOf(s, false),
  }),
  yarn: (s) => {
    const encoding: EncodingTerm = { name: 'yarn', factor: needed(s, 'factor'), original: originalOf(s) };
    const given = { beta_fast: number(s.block, ['beta_fast'], s.where), beta_slow: number(s.block, ['beta_slow'], s.where), attention_factor: positive(s, 'attention_factor') };
    for (const [key, value] of Object.entries(given)) if (value !== undefined) encoding[key] = value;
    if (s.block.truncate !== undefined) encoding.truncate = check.flag(`${s.where}.truncate`, s.block.truncate);
    const [mscale, all] = [number(s.block, ['mscale'], s.where), number(s.block, ['mscale_all_dim'], s.where)];
    if (mscale && all) Object.assign(encoding, { mscale, mscale_all_dim: all });
    if (all && isOneOf(CORRECTED, s.config)) {
      Object.assign(encoding, { mscale_all_dim: all, score_correction: true });
      if (!mscale) encoding.attention_factor ??= 0.1 * Math.log(needed(s, 'factor')) + 1; // the gain knows nothing of mscale_all_dim then
    }
    return encoding;
  },
  longrope: (s) => {
    const longest = size(s.config, ['max_position_embeddings']);
    const ratio = s.original && longest ? longest / s.original : needed(s, 'factor');
    const encoding: EncodingTerm = {
      name: 'longrope', factor: Math.max(ratio, 1), original: originalOf(s), short_factor: factors(s, 'short_factor'), long_factor: factors(s, 'long_factor'),
    };
    const [short, long] = [positive(s, 'short_mscale'), positive(s, 'long_mscale')];
    if (short !== long) throw new RangeError(`${s.where} has short_mscale = ${short} and long_mscale = ${long}; allowed: both alike, or neither`);
    const factor = positive(s, 'attention_factor') ?? long;
    if (factor !== undefined) encoding.attention_factor = factor;
    return encoding;
  },
};

// A function: what is computed when a module is read stays in every bundle.
const types = () => Object.keys(READERS).join(', ');
const SPELLINGS: Record<string, RopeType> = { su: 'longrope', mrope: 'default' };

function typeOf(block: Json, where: string): RopeType {
  const [now, before] = [block.rope_type, block.type].map((name) => (typeof name === 'string' ? SPELLINGS[name] ?? name : name ?? undefined));
  if (now !== undefined && before !== undefined && now !== before) throw new RangeError(`${where} has rope_type '${word(now)}' and type '${word(before)}'; allowed: one of them, or both alike`);
  const type = now ?? before;
  if (type === undefined) {
    const scaled = ['factor', 'short_factor', 'long_factor', 'alpha'].find((key) => block[key] !== undefined && block[key] !== null);
    if (scaled) throw new RangeError(`${where} has ${scaled} but no rope_type; allowed: ${types()}`);
    return 'default';
  }
  if (typeof type !== 'string' || !Object.hasOwn(READERS, type)) throw new RangeError(`${where}.rope_type is '${check.shorten(word(type))}'; allowed: ${types()}, ${Object.keys(SPELLINGS).join(', ')}`);
  return type as RopeType;
}

// rotary_dim counts dimensions, the others are shares of the head. All that are there must mean the same.
function rotaryDimOf({ config, block, where, headDim }: Source): number {
  const inside = number(block, ['partial_rotary_factor'], where);
  const found: [string, number][] = inside === undefined ? [] : [[`${where}.partial_rotary_factor`, share(headDim, inside)]];
  if (inside === undefined) {
    for (const key of ['partial_rotary_factor', 'rotary_pct', 'rotary_emb_fraction']) {
      const value = number(config, [key]);
      if (value !== undefined) found.push([key, share(headDim, value)]);
    }
    const count = size(config, ['rotary_dim']);
    if (count !== undefined) found.push(['rotary_dim', share(1, count)]); // pairs turn
  }
  const [first, ...others] = found;
  for (const [name, dim] of others) {
    if (dim !== first![1]) throw new RangeError(`${first![0]} and ${name} give ${first![1]} and ${dim} rotary dimensions; allowed: the same`);
  }
  const { fraction, rotaryDim } = defaultsOf(config);
  if (!first && fraction !== undefined) return share(headDim, fraction);
  if (!first && rotaryDim !== undefined) return Math.min(rotaryDim, headDim);
  if (first && (first[1] < 2 || first[1] > headDim)) throw new RangeError(`${first[0]} gives ${first[1]} rotary dimensions; allowed: 2 to head_dim (${headDim})`);
  return first?.[1] ?? headDim;
}

const share = (headDim: number, part: number) => 2 * Math.floor((headDim * part + 1e-9) / 2);

/** The blocks that speak of these layers: rope_parameters, rope_scaling, or an empty one. */
function blocks(config: Json, layerType: string | undefined): { block: Json; where: string }[] {
  const types = layerTypes(config);
  if (types.length && !types.includes(layerType ?? '')) {
    throw new RangeError(`layerType is ${layerType === undefined ? 'missing' : `'${layerType}'`}; this config tells apart ${types.join(', ')}`);
  }
  const local = nestedKey(config) ? undefined : localTheta(config);
  if (layerType === 'sliding_attention' && local) return [{ block: { rope_theta: config[local] ?? defaultsOf(config).local }, where: local }]; // no scaling here
  if (layerType === 'full_attention' && isModernBert(config) && local) return [{ block: { rope_theta: config.global_rope_theta ?? defaultsOf(config).theta }, where: 'global_rope_theta' }];
  const found = ['rope_parameters', 'rope_scaling'].filter((key) => config[key] !== undefined && config[key] !== null).map((key) => {
    const all = record(key, config[key]);
    return nestedTypes(all).length ? { block: record(`${key}.${layerType}`, all[layerType!]), where: `${key}.${layerType}` } : { block: all, where: key };
  });
  return found.length ? found : [{ block: {}, where: 'rope_parameters' }];
}

/** Layer types that turn differently; empty when all turn alike. */
function layerTypes(config: Json): string[] {
  const nested = nestedKey(config);
  if (nested) return nestedTypes(config[nested] as Json);
  return localTheta(config) ? ['full_attention', 'sliding_attention'] : [];
}

const nestedKey = (config: Json) => ['rope_parameters', 'rope_scaling']
  .find((key) => typeof config[key] === 'object' && config[key] && nestedTypes(config[key] as Json).length);

/** The key that tells the base of sliding layers, where they have one of their own. */
function localTheta(config: Json): string | undefined {
  const said = ['rope_local_base_freq', 'local_rope_theta'].find((key) => config[key] !== undefined && config[key] !== null);
  return said ?? (defaultsOf(config).local === undefined ? undefined : isModernBert(config) ? 'local_rope_theta' : 'rope_local_base_freq');
}

const nestedTypes = (block: Json) => Object.keys(block).filter((key) => typeof block[key] === 'object' && block[key] !== null && !Array.isArray(block[key]));

/** Models of several kinds of input keep the language model's config inside. */
function textPart(config: Json): Json {
  return typeof config.text_config === 'object' && config.text_config !== null ? { ...config, ...(config.text_config as Json) } : config;
}

function record(name: string, value: unknown): Json {
  check.object(name, value);
  return value as Json;
}

function number(from: Json, keys: string[], where?: string): number | undefined {
  const key = keys.find((name) => from[name] !== undefined && from[name] !== null);
  return key === undefined ? undefined : check.finite(where ? `${where}.${key}` : key, from[key]);
}

function size(from: Json, keys: string[], where?: string): number | undefined {
  const key = keys.find((name) => from[name] !== undefined && from[name] !== null);
  return key === undefined ? undefined : check.count(where ? `${where}.${key}` : key, from[key]);
}

/** A gain: 0 would silence what it multiplies, and to encodings it means "by itself". */
function positive({ block, where }: Source, key: string): number | undefined {
  const value = number(block, [key], where);
  if (value !== undefined && value <= 0) throw new RangeError(`${where}.${key} is ${value}; allowed: above 0`);
  return value;
}

function needed({ block, where }: Source, key: string): number {
  const value = number(block, [key], where);
  if (value === undefined) throw new RangeError(`${where}.${key} is missing; ${typeOf(block, where)} needs it`);
  return value;
}

function factors({ block, where }: Source, key: string): number[] {
  if (block[key] === undefined) throw new RangeError(`${where}.${key} is missing; longrope needs it`);
  return Array.from(check.numbers(`${where}.${key}`, block[key]), (x, i) => check.finite(`${where}.${key}[${i}]`, x));
}

/** The length trained on, before scaling. */
function originalOf({ config, block, where, original }: Source, orLongest = true): number {
  const length = original ?? (orLongest ? size(config, ['max_position_embeddings', 'n_positions']) : undefined);
  if (length === undefined) throw new RangeError(`${where}.original_max_position_embeddings is missing; ${typeOf(block, where)} needs it`);
  return length;
}

function derived(width: number | undefined, heads: number | undefined): number {
  if (width === undefined || heads === undefined) throw new RangeError('head_dim is missing; without it hidden_size and num_attention_heads are needed');
  if (width % heads) throw new RangeError(`hidden_size is ${width}; without head_dim it must be a multiple of num_attention_heads (${heads})`);
  return width / heads;
}
