import { css } from 'lit';

export const layout = css`
  :host { display: grid; gap: 20px; grid-template: "head" auto "stretch" 360px "panel" auto "small" auto "numbers" auto / minmax(0, 1fr); }
  .head { grid-area: head; display: flex; flex-wrap: wrap; gap: 12px 32px; align-items: end; justify-content: space-between; }
  h2 { font: 400 clamp(26px, 3.1vw, 42px)/1.1 var(--lw-serif); letter-spacing: -.015em; text-wrap: balance; margin-bottom: 6px; }
  .panel { grid-area: panel; display: grid; gap: 22px; align-content: start; }
  .stretch { grid-area: stretch; }
  .small { grid-area: small; display: grid; gap: 24px; grid-template-columns: repeat(auto-fit, minmax(min(360px, 100%), 1fr)); }
  .small > div { height: 240px; }
  .small > .runs { height: auto; max-height: 240px; }
  .stretch, .small > div { display: flex; flex-direction: column; min-width: 0; min-height: 0; }
  .stretch > :last-child, .small > div > :last-child { flex: 1; min-height: 0; }
  .numbers { grid-area: numbers; min-width: 0; }
  header { display: flex; justify-content: space-between; align-items: baseline; min-height: 26px; gap: 12px; }
  header .link { font-size: 12px; }
  .downloads { display: flex; gap: 14px; }
  .controls { display: grid; gap: 6px; justify-items: end; margin-left: auto; text-align: right; }
  .buttons { display: flex; gap: 8px; flex-wrap: wrap; justify-content: end; }
  .buttons button { height: 40px; padding: 0 18px; border-radius: 20px; white-space: nowrap; }
  .go { background: var(--lw-ink); color: var(--lw-paper); font-weight: 600; }
  .plain { border: 1px solid var(--lw-line); }
  .plain:hover { border-color: var(--lw-muted); }
  .error { color: var(--lw-pattern); max-width: 46ch; }
  .protocol { font-size: 12px; max-width: 110ch; margin-top: 10px; }
  @media (forced-colors: active) { .buttons .go { background: ButtonFace; color: ButtonText; border: 2px solid; } }
  @media screen and (min-width: 1000px) {
    :host { grid-template: "panel head" auto "panel stretch" clamp(300px, calc(100dvh - 476px), 620px) "panel small" auto "panel numbers" 1fr / 330px minmax(0, 1fr); column-gap: 48px; }
  }
  @media print {
    :host { display: block; }
    .panel, .controls, .small > .runs, .link { display: none; }
    section { margin-bottom: 12px; }
    .stretch, .small > div { display: block; height: auto; break-inside: avoid; }
    .small { grid-template-columns: 1fr 1fr; }
  }
`;
