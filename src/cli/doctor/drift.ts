import { shellCommand } from '../command/shell.ts'
import type { Target } from '../check/target.ts'
import type { DefinitionFile } from '../definitions.ts'
import { changedDefinitions } from '../deploy/definitions.ts'
import type { Step } from '../deploy/plan.ts'
import type { DeployRecord } from '../deploy/record.ts'
import { type DoctorFinding, findingsOf } from './finding.ts'

export interface DeploymentState {
  readonly record: DeployRecord
  /** What is live of each Worker here. */
  readonly steps: readonly Step[]
  readonly definitions: readonly DefinitionFile[]
  /** The edge here. */
  readonly edge: Target
}

const DEPLOY = `Run ${shellCommand('deploy')}.`

/** Returns how the project, the record of its deployments and the account differ. */
export function drift({ record, steps, definitions, edge }: DeploymentState): readonly DoctorFinding[] {
  const { attempt, current } = record
  const error = (file: string, message: string, remedy: string) =>
    findingsOf({ level: 'error', topic: 'drift' }, [{ file, message, remedy }])
  const warning = (file: string, message: string, remedy: string) =>
    findingsOf({ level: 'warning', topic: 'drift' }, [{ file, message, remedy }])
  const findings: DoctorFinding[] = []
  if (attempt) {
    const remedy = `Run ${shellCommand(attempt.kind === 'rollback' ? 'rollback' : 'deploy --continue')}.`
    findings.push(...error(edge.config, `A ${attempt.kind} was begun at ${attempt.at} and is not finished.`, remedy))
  }
  // What a deployment that is not finished has put live is its own.
  const deployed = new Map(
    [...(current?.workers ?? []), ...(attempt?.live ?? [])].map((worker) => [worker.name, worker]),
  )
  for (const { bundle, live, isCurrent, foreign } of steps) {
    const { name, config } = bundle.target
    const worker = deployed.get(name)
    if (!worker) findings.push(...(attempt ? [] : warning(config, `${name} is not deployed.`, DEPLOY)))
    else if (!live) findings.push(...error(config, `${name} was deployed, but the account has no such Worker.`, DEPLOY))
    else if (foreign.length > 0) {
      const message = `The account runs a version of ${name} that edgecall did not deploy.`
      findings.push(...warning(config, message, `Run ${shellCommand('deploy')} to replace it.`))
    } else if (!isCurrent && !attempt && worker.rollout === undefined) {
      const message = `The account runs another version of ${name} than the one that was deployed at ${current?.at}.`
      findings.push(...warning(config, message, DEPLOY))
    } else if (worker.hash !== bundle.hash) {
      findings.push(...warning(config, `${name} here is not what was deployed at ${current?.at}.`, DEPLOY))
    }
  }
  for (const name of deployed.keys()) {
    if (steps.some(({ bundle }) => bundle.target.name === name)) continue
    const remedy = `Remove it if nothing uses it: npx wrangler delete --name ${name}.`
    findings.push(...warning(edge.config, `${name} is deployed, but no Worker here has that name.`, remedy))
  }
  const stored = current?.definitions ?? []
  for (const { file, name } of changedDefinitions(definitions, stored)) {
    const remedy = `Run ${shellCommand('deploy --only definitions')}.`
    findings.push(...warning(file, `${name} is not stored at the edge as it is here.`, remedy))
  }
  for (const { name } of stored) {
    if (definitions.some((each) => each.name === name)) continue
    const message = `${name} is stored at the edge, but there is no file of it.`
    findings.push(...warning(`tools/definitions/${name}.json`, message, `Run ${shellCommand(`remove ${name}`)}.`))
  }
  return findings
}
