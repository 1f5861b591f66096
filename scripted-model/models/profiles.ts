// What each model of the API takes, refuses and reads, as the documents say it
// (docs/scripted-model.md lists the pages and when they were read). Nothing here comes from the
// product's own table of models: a double that shares our facts cannot find out that they are
// wrong.
import type { ModelProfile } from './model-profile.ts';
import { MODELS } from './table.ts';

const byName = new Map(MODELS.flatMap((model) => [model.id, ...model.aliases].map((name) => [name, model] as const)));

/**
 * Undefined for a model the documents do not name: it has no check and refuses what every model
 * refuses.
 */
export function profileOf(model: string): ModelProfile | undefined {
  return byName.get(model);
}

/** Newest first, as the Models API lists them. */
export function allProfiles(): readonly ModelProfile[] {
  return MODELS;
}

/** Whether a model sees the thinking of another; each name may be an alias, or unknown. */
export function readsThinkingOf(reader: string, maker: string): boolean {
  const [by, of] = [profileOf(reader), profileOf(maker)];
  if (by === undefined || of === undefined) return reader === maker;
  const { also, lines, until } = by.reads;
  return by.id === of.id || also.includes(of.id) || (lines.includes(of.line) && of.released <= until);
}
