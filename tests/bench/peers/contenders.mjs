// Who takes part. Each is loaded for itself: one that cannot be is named with the reason, and the others go on.

export const ours = { simd: (assets) => import('./ours.mjs').then((m) => m.load('simd', assets)), relaxed: (assets) => import('./ours.mjs').then((m) => m.load('relaxed', assets)) };
export const others = {
  plain: (assets) => import('./plain.mjs').then((m) => m.load(assets)),
  ort: (assets) => import('./ort.mjs').then((m) => m.load(assets)),
  tfjs: (assets) => import('./tfjs.mjs').then((m) => m.load(assets)),
  jax: (assets) => import('./jax.mjs').then((m) => m.load(assets)),
  wllama: (assets) => import('./wllama.mjs').then((m) => m.load(assets)),
};
export const names = { ...ours, ...others };

/** @param chosen names, or nothing for all */
export async function loadContenders(assets, chosen, onProgress = () => {}) {
  const loaded = [];
  for (const [key, load] of Object.entries(names)) {
    if (chosen && !chosen.includes(key)) continue;
    onProgress(`loading ${key}`);
    try {
      loaded.push({ key, ...await load(assets) });
    } catch (error) {
      loaded.push({ key, name: key, ours: key in ours, fault: `does not load: ${String(error?.message ?? error).split('\n')[0]}` });
    }
  }
  return loaded;
}

/** Who runs a row, and how: a contender may have several ways, and ours may be asked for several encodings. */
export function entriesOf(row, contenders) {
  return contenders.flatMap((contender) => {
    if (contender.kinds && !contender.kinds[row.kind]) return [];
    if (row.specs) return contender.ours ? row.specs.map((spec) => ({ contender, label: `${contender.name} ${spec}`, spec })) : [];
    const forms = contender.forms?.[row.kind];
    return forms ? forms.map((form) => ({ contender, label: `${contender.name} (${form})`, form })) : [{ contender }];
  });
}
