// Looks up what each model of the API takes, refuses and reads, as the documents say it
// (scripted-model/README.md lists the pages and when they were read). Nothing here comes from the
// product's own table of models: a double that shares our facts cannot find out that they are
// wrong.
import type { ModelProfile } from './model-profile.ts';
import { MODELS } from './table.ts';

const byName = new Map(MODELS.flatMap((model) => [model.id, ...model.aliases].map((name) => [name, model] as const)));

/**
 * Returns undefined for a model that the documents do not name: it has no check and refuses what
 * every model refuses.
 */
export function findProfile(model: string): ModelProfile | undefined {
  return byName.get(model);
}

/** Lists the models newest first, as the Models API does. */
export function listProfiles(): readonly ModelProfile[] {
  return MODELS;
}

/** Tells whether a model sees the thinking of another; each name may be an alias, or unknown. */
export function canReadThinking(reader: string, maker: string): boolean {
  const [by, of] = [findProfile(reader), findProfile(maker)];
  if (by === undefined || of === undefined) return reader === maker;
  const { also, lines, until } = by.reads;
  return by.id === of.id || also.includes(of.id) || (lines.includes(of.line) && of.released <= until);
}
