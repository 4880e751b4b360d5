// Writing results.

/** Prints a value as JSON. Typed arrays become arrays; numbers keep all their digits, infinities are texts and NaN is null. */
export function printJson(value: unknown): void {
  const plain = (_key: string, part: unknown) => {
    if (ArrayBuffer.isView(part)) return Array.from(part as Float32Array);
    return part === Infinity || part === -Infinity ? String(part) : part;
  };
  process.stdout.write(`${JSON.stringify(value, plain)}\n`);
}

/** Prints rows as columns; all but the first column are set to the right when `numeric`. */
export function printTable(header: string[], rows: string[][], { numeric = false } = {}): void {
  const widths = header.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]!.length)));
  const line = (row: string[]) => row.map((cell, i) => (numeric && i > 0 ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!))).join('  ').trimEnd();
  const ruler = widths.map((width) => '─'.repeat(width));
  process.stdout.write(`${[header, ruler, ...rows].map(line).join('\n')}\n`);
}
