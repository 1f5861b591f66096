// The settings of a query are its options: none are read from files or come from an organisation.
import type { Settings } from './shapes/options.ts';
import type { ResolvedSettings, ResolveSettingsOptions } from './shapes/settings.ts';

/** Resolves to empty settings, whatever `options` name, since no settings files are read. */
export function resolveSettings(_options: ResolveSettingsOptions = {}): Promise<ResolvedSettings> {
  return Promise.resolve({ effective: {}, provenance: {}, sources: [], machinePolicy: { didNotLoad: false } });
}

const ESCALATING: readonly unknown[] = ['acceptEdits', 'auto', 'bypassPermissions'];

/** Returns the effective settings, without a mode that allows more and comes from a workspace. */
export function filterEscalatingDefaultMode({ effective, provenance, sources }: ResolvedSettings): Settings {
  const { permissions } = effective;
  const mode = permissions?.defaultMode;
  if (!ESCALATING.includes(mode)) return effective;
  const from = sources.findLast(({ settings }) => settings.permissions?.defaultMode !== undefined)?.source;
  if ((from ?? provenance.permissions?.source) !== 'project') return effective;
  const { defaultMode: _, ...others } = permissions ?? {};
  return { ...effective, permissions: others };
}

/** Empty, since there are no accounts here whose limits could be reported. */
export const ORG_POLICY_LIMIT_PREFIXES: readonly string[] = [];
export const USAGE_LIMIT_ERROR_PREFIXES: readonly string[] = [];
export const USAGE_TRANSITION_PREFIXES: readonly string[] = [];
export const USAGE_WARNING_PREFIXES: readonly string[] = [];
