// Declares the settings in effect, for programs that show or watch them.
import type { SettingSource, Settings } from './options.ts';

export type ResolvedSettingSource = SettingSource | 'managed' | 'flag';
export type PolicySettingsOrigin = 'helper' | 'remote' | 'plist' | 'hklm' | 'file' | 'parent' | 'hkcu';
export type ProvenanceEntry = { source: ResolvedSettingSource; path?: string; policyOrigin?: PolicySettingsOrigin };

export type ResolveSettingsOptions = {
  cwd?: string;
  settingSources?: SettingSource[];
  managedSettings?: Settings;
  serverManagedSettings?: Settings;
  registryPolicyFingerprint?: () => unknown;
};

export type ResolvedSettings = {
  effective: Settings;
  provenance: Partial<Record<keyof Settings, ProvenanceEntry>>;
  /** Sources of lower rank come first. */
  sources: (ProvenanceEntry & { settings: Settings })[];
  machinePolicy?: {
    didNotLoad: false | ('profile' | 'registry' | 'file')[];
    registryPolicyDifferedFromFingerprint?: true;
  };
};
