import { resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { isObject } from '../../contract/json.ts'
import type { Target } from '../check/target.ts'
import type { Terminal } from '../command/terminal.ts'
import { Failure } from '../failure.ts'
import { readTextFile } from '../text-file.ts'

/** The secrets to set, by the Worker's name in its configuration and the secret's name. */
export type Secrets = Readonly<Record<string, Readonly<Record<string, string>>>>

/**
 * Reads a file of secrets. Lines `NAME=value` are the edge's; in JSON, texts are the edge's and objects are those of
 * the Worker that they are named after. Throws a Failure that shows no value.
 */
export function readSecrets(root: string, file: string, targets: readonly Target[]): Secrets {
  const edge = targets.find(({ role }) => role === 'edge')?.baseName ?? ''
  const secretsInFile = readFile(root, file)
  const secrets: Record<string, Record<string, string>> = {}
  for (const [name, value] of Object.entries(secretsInFile)) {
    if (typeof value === 'string') (secrets[edge] ??= {})[name] = value
    else if (!targets.some(({ baseName }) => baseName === name))
      throw new Failure(`${file}: no Worker is named "${name}".`)
    else if (isObject(value)) {
      for (const [inner, text] of Object.entries(value)) {
        if (typeof text !== 'string') throw new Failure(`${file}: ${name}.${inner} must be a text.`)
        ;(secrets[name] ??= {})[inner] = text
      }
    }
  }
  return secrets
}

function readFile(root: string, file: string): Readonly<Record<string, unknown>> {
  let content: string
  try {
    content = readTextFile(resolve(root, file))
  } catch {
    throw new Failure(`${file} cannot be read.`, 'Give --secrets a file of lines NAME=value, or of JSON.')
  }
  if (!content.trimStart().startsWith('{')) return parseEnv(content)
  try {
    const value: unknown = JSON.parse(content)
    if (isObject(value)) return value
  } catch {
    // The parser's message would show a part of the file.
  }
  throw new Failure(`${file} is not valid JSON.`, 'Values are texts, or an object of texts for each Worker.')
}

/**
 * Returns the secrets that a Worker requires (`secrets.required` of its configuration) and neither the file nor the
 * account has, as the person at the terminal types them. Throws a Failure if nobody can be asked.
 */
export async function askMissing(
  { baseName, config, settings }: Target,
  { present, terminal }: { readonly present: ReadonlySet<string>; readonly terminal: Terminal },
): Promise<Readonly<Record<string, string>>> {
  const answers: Record<string, string> = {}
  for (const name of settings.secrets?.required ?? []) {
    if (present.has(name)) continue
    const hint = `${config} requires it: put it into a file and deploy with --secrets <file>.`
    answers[name] = await terminal.askSecret(`The secret ${name} of ${baseName}`, hint)
  }
  return answers
}
