// The model that one call asks, by its position in the run's list, and the one after it (L19).
import type { RunConfig, RunModel } from '../run-config.ts';

export type ChosenModel = {
  readonly model: RunModel;
  /** False after a fallback: thinking is off then (L59). */
  readonly primary: boolean;
  /** Null: there is none. */
  readonly next: string | null;
};

/** `position`: 0 or absent for the primary. */
export function chosenModel({ models }: RunConfig, position = 0): ChosenModel {
  const model = models[position];
  if (!model) throw new Error(`the run has ${models.length} models, and number ${position} (from 0) was asked for`);
  return { model, primary: position === 0, next: models[position + 1]?.name ?? null };
}
