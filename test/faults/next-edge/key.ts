/** The key that only the next version of the edge asks its model with. */
export const NEXT_KEY = 'version-2'
