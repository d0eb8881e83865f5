import type { SecretFilter } from '../contract/secrets.ts'
import type { Report } from '../contract/setup.ts'

/** Returns a function that logs entries, one a line, without these secrets. Level `error`: faults. */
export function reportTo(level: 'log' | 'error', secrets: SecretFilter | undefined): Report {
  return (entry) => {
    const line = JSON.stringify(entry)
    console[level](secrets ? secrets.text(line) : line)
  }
}
