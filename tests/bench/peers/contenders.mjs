// Who takes part. Each is loaded for itself: one that cannot be is named with the reason, and the others go on.

export const contenders = {
  simd: (assets) => import('./ours.mjs').then(({ load }) => load('simd', assets)),
  relaxed: (assets) => import('./ours.mjs').then(({ load }) => load('relaxed', assets)),
  plain: () => import('./plain.mjs').then(({ load }) => load()),
  ort: (assets) => import('./ort.mjs').then(({ load }) => load(assets)),
  tfjs: (assets) => import('./tfjs.mjs').then(({ load }) => load(assets)),
  jax: () => import('./jax.mjs').then(({ load }) => load()),
  wllama: (assets) => import('./wllama.mjs').then(({ load }) => load(assets)),
};
const ours = ['simd', 'relaxed'];

/** @param chosen names, or nothing for all */
export async function loadContenders(assets, chosen, onProgress = () => {}) {
  const loaded = [];
  for (const [key, load] of Object.entries(contenders)) {
    if (chosen && !chosen.includes(key)) continue;
    onProgress(`loading ${key}`);
    try {
      loaded.push({ key, ...await load(assets) });
    } catch (error) {
      loaded.push({ key, name: key, ours: ours.includes(key), fault: `does not load: ${String(error?.message ?? error).split('\n')[0]}` });
    }
  }
  return loaded;
}
