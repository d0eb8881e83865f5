/** Sample customers of two tenants, instead of a database. */

export interface Customer {
  readonly id: number
  readonly name: string
  readonly company: string
  readonly email: string
  readonly plan: 'free' | 'team' | 'enterprise'
  /** YYYY-MM-DD. */
  readonly since: string
  readonly openOrders: number
}

const ACME: readonly Customer[] = [
  {
    id: 7,
    name: 'Noor Haddad',
    company: 'Haddad & Daughters',
    email: 'noor@haddad.example',
    plan: 'free',
    since: '2024-11-05',
    openOrders: 0,
  },
  {
    id: 42,
    name: 'Ada Okafor',
    company: 'Okafor Instruments',
    email: 'ada@okafor.example',
    plan: 'enterprise',
    since: '2021-03-17',
    openOrders: 3,
  },
]

const GLOBEX: readonly Customer[] = [
  {
    id: 42,
    name: 'Mateo Ferreira',
    company: 'Ferreira Cork',
    email: 'mateo@ferreira.example',
    plan: 'team',
    since: '2023-08-29',
    openOrders: 1,
  },
  {
    id: 108,
    name: 'Ingrid Solberg',
    company: 'Solberg Ferries',
    email: 'ingrid@solberg.example',
    plan: 'enterprise',
    since: '2019-01-10',
    openOrders: 12,
  },
]

/** By tenant. All callers of an edge with `AUTH=open`, such as that of `npm start`, are of the tenant `local`. */
const RECORDS: ReadonlyMap<string, readonly Customer[]> = new Map([
  ['acme', ACME],
  ['globex', GLOBEX],
  ['local', ACME],
])

/** Finds a customer of that tenant; never of another one. */
export function findCustomer(tenant: string, id: number): Customer | undefined {
  return RECORDS.get(tenant)?.find((customer) => customer.id === id)
}
