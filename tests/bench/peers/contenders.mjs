// Who takes part. Each is loaded for itself: one that cannot be is named with the reason, and the others go on.

export const contenders = {
  simd: (assets) => import('./ours.mjs').then(({ load }) => load('simd', assets)),
  relaxed: (assets) => import('./ours.mjs').then(({ load }) => load('relaxed', assets)),
  simd2: (assets) => import('./ours.mjs').then(({ load }) => load('simd', assets, 2)), // in rows about threads alone
  relaxed2: (assets) => import('./ours.mjs').then(({ load }) => load('relaxed', assets, 2)),
  plain: () => import('./plain.mjs').then(({ load }) => load()),
  ort: (assets) => import('./ort.mjs').then(({ load }) => load(assets)),
  tfjs: (assets) => import('./tfjs.mjs').then(({ load }) => load(assets)),
  jax: () => import('./jax.mjs').then(({ load }) => load()),
  wllama: (assets) => import('./wllama.mjs').then(({ load }) => load(assets)),
};
const ours = ['simd', 'relaxed', 'simd2', 'relaxed2'];

/** @param chosen names, or nothing for all */
export async function loadContenders(assets, chosen, onProgress = () => {}) {
  const loaded = [];
  for (const [key, load] of Object.entries(contenders)) {
    if (chosen && !chosen.includes(key)) continue;
    if (key.endsWith('2') && !assets.threadedKernels) continue; // a page of peers is not isolated
    onProgress(`loading ${key}`);
    try {
      loaded.push({ key, ...await load(assets) });
    } catch (error) {
      loaded.push({ key, name: key, ours: ours.includes(key), fault: `does not load: ${String(error?.message ?? error).split('\n')[0]}` });
    }
  }
  return loaded;
}
