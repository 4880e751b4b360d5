declare module 'virtual:sample-text' {
  export const train: string; // URLs
  export const test: string;
}
declare module 'virtual:encoding-headers' {
  export interface Header { equation: string[]; notes: string } // of the C++ file
  export const headers: Record<string, Header | undefined>;
}
declare module 'virtual:bench-records' {
  export interface Entry { name: string; ours: boolean; median?: number; low?: number; high?: number; error?: number; fault?: string } // milliseconds
  export interface RowResult { id: string; entries: Entry[] }
  export interface Recorded { engine: string; clock: string; date: string; machine: { cpu: string; cores: number }; versions: Record<string, string>; rows: RowResult[] }
  export interface Curve { id: string; by: string; law: number; points: { x: number; median: number; scratchBytes?: number; exponent?: number }[] }
  export interface Growth { engine: string; variant: string; clock: string; date: string; machine: { cpu: string; cores: number }; curves: Curve[] }
  export const peers: Recorded[];
  export const growth: Growth[];
}
declare module 'virtual:stretch-records' {
  export interface Tested { length: number; mean?: number; sd?: number; refused?: string } // perplexity, or accuracy 0 … 1
  export interface Stretched { parameters: number; tests: Tested[] }
  export interface Stretch { task: 'text' | 'copy' | 'recall'; command: string; trainLength: number; testLengths: number[]; steps: number; seeds: number; encodings: Record<string, Stretched> }
  export const stretches: Stretch[];
}
