import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseEnv } from 'node:util'
import type { CheckProblem } from '../check/problem.ts'
import type { Target } from '../check/target.ts'
import { type DefinitionFile, hostsOf } from '../definitions.ts'

/** Returns the names of the secrets that a Worker needs, as far as its configuration and the definitions tell. */
export function neededSecrets({ role, settings }: Target, definitions: readonly DefinitionFile[]): readonly string[] {
  const texts = Object.values(settings.vars).filter((value) => typeof value === 'string')
  // The hosts of definitions may be sent any secret that HTTP_TOOL_HOSTS names.
  const inTexts = texts.flatMap((text) => text.match(/\bSECRET_[A-Z0-9_]+/g) ?? [])
  const inDefinitions = role === 'edge' ? Object.values(hostsOf(definitions)).flat() : []
  return [...new Set([...(settings.secrets?.required ?? []), ...inTexts, ...inDefinitions])]
}

/** Returns the secrets that a Worker on this machine would not have: those not in `.dev.vars` beside its configuration. */
export function missingHere(
  root: string,
  { config, role, baseName }: Target,
  { names, env }: { readonly names: readonly string[]; readonly env: NodeJS.ProcessEnv },
): readonly CheckProblem[] {
  const file = join(dirname(config), '.dev.vars')
  const variables = existsSync(join(root, file)) ? parseEnv(readFileSync(join(root, file), 'utf8')) : {}
  const has = (name: string) => variables[name] || (role === 'edge' && env[name])
  return names.flatMap((name) =>
    has(name)
      ? []
      : [{ file, message: `${baseName} needs ${name} on this machine.`, remedy: `Add a line ${name}=… to the file.` }],
  )
}

/** Returns the secrets that a deployed Worker does not have. */
export function missingInAccount(
  { config, name }: Target,
  { names, present }: { readonly names: readonly string[]; readonly present: readonly string[] },
): readonly CheckProblem[] {
  return names.flatMap((secret) =>
    present.includes(secret)
      ? []
      : [
          {
            file: config,
            message: `The deployed Worker ${name} does not have the secret ${secret}.`,
            remedy: `Run npx wrangler secret put ${secret} -c ${config} --name ${name}.`,
          },
        ],
  )
}
