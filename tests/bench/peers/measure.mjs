// One row of the bench: everybody's result is checked against the reference, then all take turns on the clock.

const sorted = (values) => [...values].sort((a, b) => a - b);
/** Between the two that it lies between: of two rounds the median is not the slower one. */
function quantile(values, q) {
  const at = q * (values.length - 1), below = Math.floor(at), above = Math.ceil(at);
  return values[below] + (at - below) * (values[above] - values[below]);
}

/**
 * What is wrong with a result, or null.
 * @param {Float32Array} result
 * @param {{ size: number, at?: ArrayLike<number>, values: ArrayLike<number>, tolerance: number }} expected doubles; those
 * at the indices `at` where not all of `size` are given
 * @returns {{ error: number, fault: string | null }} error: the largest difference
 */
export function judge(result, { size, at, values, tolerance }) {
  if (result?.length !== size) return { error: Infinity, fault: `gives ${result?.length} numbers instead of ${size}` };
  let error = 0;
  for (let i = 0; i < values.length; i++) {
    const difference = Math.abs(result[at ? at[i] : i] - values[i]);
    if (!(difference <= error)) error = difference; // NaN stays
    if (Number.isNaN(error)) break;
  }
  const fault = error <= tolerance ? null : `is wrong: off by ${error.toPrecision(2)}, allowed ${tolerance}`;
  return { error, fault };
}

// Some are done when they return, others promise to be.
const promised = (value) => (typeof value?.then === 'function' ? value : undefined);

async function time(work, repeat, now) {
  const started = now();
  for (let i = 0; i < repeat; i++) {
    const pending = promised(work.run());
    if (pending) await pending;
  }
  return (now() - started) / repeat;
}

/** Runs long enough for the optimising compiler; then how often a turn of `turn` ms repeats it, by clocks of whole ms too. */
async function warm(work, { warmUp, turn, now }) {
  let runs, elapsed;
  for (let half = 0; half === 0 || (half === 1 && elapsed < warmUp); half++) { // one slow run is enough
    const started = now();
    runs = 0;
    do {
      await time(work, 1, now);
      elapsed = now() - started, runs++;
    } while (elapsed < warmUp / 2);
  }
  return Math.max(1, Math.round(turn * runs / Math.max(elapsed, 1)));
}

/** A fault in short, without the folders of whoever built a peer. */
export const oneLine = (fault) => String(fault).split('\n')[0].replaceAll(/(?:\/[\w.+-]+){3,}/g, '…').slice(0, 200);

async function enter(entry, row, expected) {
  const { contender, label = contender.name, ...rest } = entry;
  const entered = { name: label, ours: contender.ours === true };
  try {
    const work = await contender.kinds[row.kind]({ ...row, ...rest });
    const pending = promised(work.run());
    if (pending) await pending;
    const { error, fault } = judge(await work.result(), expected({ ...row, ...rest }));
    Object.assign(entered, { error });
    if (fault) { work.dispose?.(); throw new Error(fault); }
    return { ...entered, work };
  } catch (fault) {
    return { ...entered, fault: oneLine(fault?.message ?? fault) };
  }
}

/**
 * @param row { id, kind, work, unit, … } and what the kind needs
 * @param entries [{ contender, label?, … }]
 * @param expected gives the reference of a row and entry
 * @param budget { warmUp, turn, seconds, now } of each entry: milliseconds before and in a turn, seconds in all rounds, the clock
 * @returns { id, unit, entries: [{ name, ours, error, fault } or { …, median, low, high, best, rounds }] } milliseconds
 */
export async function compete(row, entries, expected, budget, onProgress = () => {}) {
  const entered = [];
  for (const entry of entries) {
    onProgress(`${entry.label ?? entry.contender.name}: checking`);
    entered.push(await enter(entry, row, expected));
  }
  const runners = entered.filter(({ work }) => work);
  for (const runner of runners) {
    onProgress(`${runner.name}: warming up`);
    Object.assign(runner, { repeat: await warm(runner.work, row.turn ? { ...budget, turn: row.turn } : budget), times: [], spent: 0 });
  }
  // Slow ones sit out the later rounds, but take three, unless those would take for ever.
  const goesOn = ({ spent, times }) => spent < budget.seconds * 1000 || (times.length < 3 && spent < budget.seconds * 4000);
  for (let round = 0; runners.some(goesOn); round++) {
    onProgress(`round ${round + 1}`);
    for (let i = 0; i < runners.length; i++) {
      const runner = runners[(i + round) % runners.length];
      if (!goesOn(runner)) continue;
      const each = await time(runner.work, runner.repeat, budget.now);
      runner.times.push(each);
      runner.spent += each * runner.repeat;
    }
  }
  return { id: row.id, group: row.group, unit: row.unit, work: row.work, entries: entered.map(({ work, repeat, times, spent, ...entry }) => {
    work?.dispose?.();
    if (!times) return entry;
    const all = sorted(times);
    return { ...entry, median: quantile(all, 0.5), low: quantile(all, 0.25), high: quantile(all, 0.75), best: all[0], rounds: all.length };
  }) };
}

/** Who runs a row, and how: a contender may have several ways, and ours may be asked for several encodings. */
export function entriesOf(row, loaded) {
  return loaded.flatMap((contender) => {
    if (!contender.kinds?.[row.kind]) return [];
    if (row.threads ? !contender.ours : contender.threads > 1) return [];
    if (row.specs) return contender.ours ? row.specs.map((spec) => ({ contender, label: `${contender.name} ${spec}`, spec })) : [];
    const forms = contender.forms?.[row.kind];
    return forms ? forms.map((form) => ({ contender, label: `${contender.name} (${form})`, form })) : [{ contender }];
  });
}
