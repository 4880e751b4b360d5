// lengthwise: every way of telling a transformer where its tokens are. Importing this does nothing; `load()` does.

export { load, type LoadOptions, type WorkerOptions } from './load.js';
export { Lengthwise, type AttentionOptions, type CatalogueTexts, type EncodingDescriptor, type EncodingFacts, type EncodingTexts, type OptionDescriptor,
  type OptionFacts, type OptionTexts } from './engine.js';
export { Encoding, type Door, type EncodingParameters, type EncodingShape, type Pairing, type Rectangle, type Rotation } from './encoding.js';
export type { Audit } from './audit.js';
export { phases, type EncodingSpec, type EncodingTerm, type Phases } from './spec.js';
export { importEncoding } from './custom.js';
export type { EncodingContext, EncodingDefinition, EncodingModule, EncodingOptions, OptionDefinition } from './custom.js';
export { Model, type GenerateOptions, type Precision } from './model.js';
export type { ModelConfig, TrainOptions } from './config.js';
export type { ModelRequest } from './core.js';
export { Trainer, type StepInfo, type StepShape } from './trainer.js';
export { Experiment, experiment, type ExperimentOptions, type ExperimentResult } from './experiment.js';
export type { ExperimentEvent, Task, TestResult } from './run.js';
export type { EncodingSummary, LengthSummary, Spread } from './summary.js';
export { ropeFromConfig, ropeLayersFromConfig, type RopeConfig, type RopeConfigOptions, type RopeType } from './rope-config.js';
export { alibiSlopes, permuteRotaryRows, relativePositionBuckets } from './interop.js';
export { positionsFromMask } from './positions.js';
export { splitText, type TextSplit } from './text.js';
export { ByteTokenizer, Llama2Tokenizer, type Tokenizer } from './tokenizer.js';
export { readSafetensors, tensorFloats, writeSafetensors, type Safetensors, type Tensor } from './safetensors.js';
export { DisposedError, EncodingError, EngineError, FormatError, LoadError, OutOfMemoryError, type LoadErrorCode } from './errors.js';
