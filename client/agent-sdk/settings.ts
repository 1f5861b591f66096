// Settings of a query are its options: none are read from files, and none come from an organisation.
import type { Settings } from './shapes/options.ts';
import type { ResolvedSettings, ResolveSettingsOptions } from './shapes/settings.ts';

/** The settings that a query would find in files, whatever `options` name: there are none. */
export function resolveSettings(_options: ResolveSettingsOptions = {}): Promise<ResolvedSettings> {
  return Promise.resolve({ effective: {}, provenance: {}, sources: [], machinePolicy: { didNotLoad: false } });
}

const ESCALATING: readonly unknown[] = ['acceptEdits', 'auto', 'bypassPermissions'];

/** The effective settings, without a mode that allows more and that a workspace asks for. */
export function filterEscalatingDefaultMode({ effective, provenance, sources }: ResolvedSettings): Settings {
  const { permissions } = effective;
  const mode = permissions?.defaultMode;
  if (!ESCALATING.includes(mode)) return effective;
  const from = sources.findLast(({ settings }) => settings.permissions?.defaultMode !== undefined)?.source;
  if ((from ?? provenance.permissions?.source) !== 'project') return effective;
  const { defaultMode: _, ...others } = permissions ?? {};
  return { ...effective, permissions: others };
}

/** Beginnings of an account's messages about its limits. There are no accounts here. */
export const ORG_POLICY_LIMIT_PREFIXES: readonly string[] = [];
export const USAGE_LIMIT_ERROR_PREFIXES: readonly string[] = [];
export const USAGE_TRANSITION_PREFIXES: readonly string[] = [];
export const USAGE_WARNING_PREFIXES: readonly string[] = [];
