// The latest results, for as long as the tab is open: whoever follows a link and comes back finds them again. What was still
// running has ended where it was left.
import { Lab } from './lab.ts';

const key = 'lengthwise-results';

// Storage may be forbidden or full; then nothing is kept.
export function keep(lab: Lab): void {
  const plain = (name: string, value: unknown) => (name === 'round' ? undefined : name === 'state' && value !== 'failed' && value !== 'done' ? 'cancelled' : value instanceof Map ? [...value] : ArrayBuffer.isView(value) ? Array.from(value as Float32Array) : value);
  try { sessionStorage.setItem(key, JSON.stringify(lab, plain)); } catch { /* as above */ }
}

export function kept(): Lab | undefined {
  try {
    const { settings, ownText, runs } = JSON.parse(sessionStorage.getItem(key)!);
    const lab = new Lab(settings, ownText);
    lab.runs.forEach((run, i) => Object.assign(run, runs[i], { tests: new Map(runs[i].tests), round: new Map(), refused: new Map(runs[i].refused) }));
    return lab;
  } catch { return undefined; }
}
