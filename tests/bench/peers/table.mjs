// A row's results as text: medians, their spread, and how we stand beside the best peer.

/** What the unit says, of a time in milliseconds. */
export function figure({ work, unit }, milliseconds) {
  if (unit === 'µs') return milliseconds * 1000 / work;
  if (['ms', 'KB', 'MB'].includes(unit)) return milliseconds / work;
  return work / (milliseconds / 1000);
}

const digits = (x) => (x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2));
const least = (entries) => entries.reduce((a, b) => (b.median < a.median ? b : a));

/** Ours and the peers' fastest, and the ratio; null where either is missing. */
export function standing({ entries }) {
  const ran = entries.filter(({ median }) => median > 0);
  const [us, them] = [ran.filter(({ ours }) => ours), ran.filter(({ ours }) => !ours)];
  if (!us.length || !them.length) return null;
  const [our, peer] = [least(us), least(them)];
  return { our, peer, ratio: peer.median / our.median };
}

/** By the medians, and by the fastest rounds, which others on the machine did not slow. */
function compared(entry, base, name) {
  const say = (ratio) => (ratio > 1.2 ? `${ratio.toFixed(2)} × ${name}` : `${(100 / ratio - 100).toFixed(1)} % more time than ${name}`);
  return `${say(base.median / entry.median)} (fastest rounds: ${say(base.best / entry.best)})`;
}

export function table(row) {
  const best = standing(row);
  const lines = row.entries.map((entry) => {
    const name = `  ${entry.name.padEnd(36)}`;
    if (!entry.median) return `${name} ${entry.fault}`;
    const spread = (entry.high - entry.low) / entry.median * 50;
    const time = ['KB', 'MB'].includes(row.unit) ? '' : `${digits(entry.median).padStart(8)} ms  `;
    return `${name} ${digits(figure(row, entry.median)).padStart(8)} ${row.unit.padEnd(8)} ±${spread.toFixed(0).padStart(3)} %  ` +
      `${time}×${String(entry.rounds).padEnd(3)} off by ${entry.error.toExponential(0)}`;
  });
  if (row.beside) {
    // Doors beside the same without: each binary for itself.
    for (const base of row.entries.filter(({ name, median }) => median && name.endsWith(` ${row.beside}`))) {
      const stem = base.name.slice(0, -row.beside.length);
      for (const entry of row.entries) {
        if (entry === base || !entry.median || !entry.name.startsWith(stem)) continue;
        lines.push(`  ${entry.name}: ${compared(entry, base, row.beside)}`);
      }
    }
  }
  if (row.group === 'threads') {
    const [several, single] = [true, false].map((wanted) => row.entries.filter(({ name, median }) => median && /threads$/.test(name) === wanted));
    for (const entry of several) {
      for (const base of single) if (entry.name.startsWith(base.name)) lines.push(`  ${entry.name}: ${compared(entry, base, 'one')}`);
    }
  }
  const verdict = best && row.unit !== 'MB' ? `  → ${best.ratio.toFixed(2)} × ${best.peer.name}` : '';
  return [`${row.id}${verdict}`, ...lines].join('\n');
}
