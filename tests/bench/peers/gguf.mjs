// Writes a llama model as GGUF, the format of llama.cpp: 32-bit weights, and a vocabulary of single characters.

// Chinese characters, then Korean syllables; the first three tokens are special.
const blocks = [[0x4e00, 20992], [0xac00, 11172]];
const character = (token) => String.fromCharCode(token < blocks[0][1] ? blocks[0][0] + token : blocks[1][0] + token - blocks[0][1]);
const tokenOf = (code) => (code < blocks[1][0] ? code - blocks[0][0] : code - blocks[1][0] + blocks[0][1]);
export const textOf = (tokens) => Array.from(tokens, character).join('');
export const tokensOf = (text) => Float32Array.from(text, (each) => tokenOf(each.charCodeAt(0)));

const STRING = 8, ARRAY = 9, U32 = 4, I32 = 5, F32 = 6, BOOL = 7;

/** @param config, weights as in llama.mjs (interleaved pairs, tied) */
export function gguf({ vocabulary, width, layers, heads, hidden, length }, weights) {
  const head = [];
  const number = (bytes, set) => {
    const view = new DataView(new ArrayBuffer(bytes));
    set(view);
    head.push(new Uint8Array(view.buffer));
  };
  const u32 = (x) => number(4, (view) => view.setUint32(0, x, true));
  const u64 = (x) => number(8, (view) => view.setBigUint64(0, BigInt(x), true));
  const f32 = (x) => number(4, (view) => view.setFloat32(0, x, true));
  const text = (x) => {
    const bytes = new TextEncoder().encode(x);
    u64(bytes.length), head.push(bytes);
  };
  const write = { [STRING]: text, [U32]: u32, [I32]: u32, [F32]: f32, [BOOL]: (x) => head.push(Uint8Array.of(x)) };
  const pieces = Array.from({ length: vocabulary }, (_, n) => ['<unk>', '<s>', '</s>'][n] ?? character(n));
  const facts = [
    ['general.architecture', STRING, 'llama'], ['general.name', STRING, 'bench'], ['general.file_type', U32, 0],
    ['llama.context_length', U32, length], ['llama.embedding_length', U32, width], ['llama.block_count', U32, layers],
    ['llama.feed_forward_length', U32, hidden], ['llama.attention.head_count', U32, heads], ['llama.attention.head_count_kv', U32, heads],
    ['llama.attention.layer_norm_rms_epsilon', F32, 1e-5], ['llama.rope.dimension_count', U32, width / heads],
    ['llama.rope.freq_base', F32, 10000], ['llama.vocab_size', U32, vocabulary],
    ['tokenizer.ggml.model', STRING, 'llama'], ['tokenizer.ggml.add_space_prefix', BOOL, 0],
    ['tokenizer.ggml.bos_token_id', U32, 1], ['tokenizer.ggml.eos_token_id', U32, 2], ['tokenizer.ggml.tokens', STRING, pieces],
    ['tokenizer.ggml.scores', F32, pieces.map((_, n) => -n)], ['tokenizer.ggml.token_type', I32, pieces.map((_, n) => [2, 3, 3][n] ?? 1)],
  ];
  const matrices = { attn_norm: ['attention_norm', width], attn_q: ['wq', width, width], attn_k: ['wk', width, width],
    attn_v: ['wv', width, width], attn_output: ['wo', width, width],
    ffn_norm: ['ffn_norm', width], ffn_gate: ['w1', width, hidden], ffn_up: ['w3', width, hidden], ffn_down: ['w2', hidden, width] };
  const tensors = [['token_embd.weight', weights.embedding, [width, vocabulary]], ['output_norm.weight', weights.final_norm, [width]],
    ...weights.layers.flatMap((layer, l) => Object.entries(matrices).map(([name, [own, ...shape]]) => [`blk.${l}.${name}.weight`, layer[own], shape]))];

  head.push(new TextEncoder().encode('GGUF'));
  u32(3), u64(tensors.length), u64(facts.length);
  for (const [name, type, value] of facts) {
    text(name);
    if (!Array.isArray(value)) { u32(type), write[type](value); continue; }
    u32(ARRAY), u32(type), u64(value.length);
    for (const each of value) write[type](each);
  }
  const aligned = (n) => Math.ceil(n / 32) * 32;
  let offset = 0;
  for (const [name, values, shape] of tensors) {
    text(name), u32(shape.length), shape.forEach(u64), u32(0), u64(offset);
    offset += aligned(values.byteLength);
  }
  const before = aligned(head.reduce((n, part) => n + part.length, 0));
  const file = new Uint8Array(before + offset);
  let at = 0;
  for (const part of head) file.set(part, at), at += part.length;
  at = before;
  for (const [, values] of tensors) file.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), at), at += aligned(values.byteLength);
  return file;
}
