export interface Row {
  id: string; group: string; kind: 'product' | 'attention' | 'rotate' | 'sinusoidal' | 'training'; unit: string; work: number;
  m: number; n: number; k: number; length: number; width: number; heads: number; headDim: number; batch: number; specs?: string[];
  config: { width: number; layers: number; length: number };
}
export const rows: Row[];
/** What the unit says, of a time in milliseconds. */
export function figure(row: { work: number; unit: string }, milliseconds: number): number;
