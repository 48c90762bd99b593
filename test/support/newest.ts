/** Whether clients and providers are those of test/newest/package.json. */
export const isNewest = process.env.LINTEL_NEWEST !== undefined;
