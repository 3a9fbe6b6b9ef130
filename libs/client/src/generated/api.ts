// Generated from the OpenAPI document of the api by `npm run generate`.

export interface paths {
    "/admin/sandboxes/running-counts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Counts the running sandboxes of each team.
         * @description Needs an API key of the role admin, and is served on the admin port alone.
         */
        get: operations["countRunningSandboxes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/teams/{teamID}/api-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Makes an API key for a team.
         * @description Needs an API key of the role admin, and is served on the admin port alone.
         */
        post: operations["createApiKeyOfTeam"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/teams/{teamID}/api-keys/{apiKeyID}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Takes an API key of a team back.
         * @description Needs an API key of the role admin, and is served on the admin port alone.
         */
        delete: operations["deleteApiKeyOfTeam"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/teams/{teamID}/builds/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ends all template builds of a team.
         * @description Needs an API key of the role admin, and is served on the admin port alone.
         */
        post: operations["cancelTeamBuilds"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/teams/{teamID}/sandboxes/kill": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Kills all sandboxes of a team.
         * @description Needs an API key of the role admin, and is served on the admin port alone.
         */
        post: operations["killTeamSandboxes"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the API keys of the team.
         * @description Needs an API key of the role admin, and is served on the admin port alone.
         */
        get: operations["listTeamApiKeys"];
        put?: never;
        /**
         * Makes an API key for the team.
         * @description Needs an API key of the role admin, and is served on the admin port alone.
         */
        post: operations["createTeamApiKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api-keys/{apiKeyID}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Takes an API key back; its sandboxes stay.
         * @description Needs an API key of the role admin, and is served on the admin port alone.
         */
        delete: operations["deleteTeamApiKey"];
        options?: never;
        head?: never;
        /**
         * Gives an API key another name.
         * @description Needs an API key of the role admin, and is served on the admin port alone.
         */
        patch: operations["renameTeamApiKey"];
        trace?: never;
    };
    "/api/v1/claims": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the claims. */
        get: operations["listClaims"];
        put?: never;
        /** Claims a sandbox, or with replicas a batch of them. */
        post: operations["createClaim"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/claims/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says what has become of a claim. */
        get: operations["getClaim"];
        put?: never;
        post?: never;
        /** Deletes a claim and its sandboxes. */
        delete: operations["deleteClaim"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/claims/{name}/egress": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says which destinations the egress proxy has refused to the sandboxes of a claim. */
        get: operations["getClaimEgress"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/claims/{name}/previews": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Makes a URL that opens a port for a time. */
        post: operations["createPreview"];
        /** Revokes all previews of a claim. */
        delete: operations["revokePreviews"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The same for people. */
        get: operations["getDocs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Follows what happens to claims, sandboxes, pools and templates. */
        get: operations["followEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says how the API is. */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says whose the API key of the request is. */
        get: operations["getOwnApiKey"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the API keys.
         * @description Needs an API key of the role admin, and is served on the admin port alone.
         */
        get: operations["listApiKeys"];
        put?: never;
        /**
         * Makes an API key for a namespace.
         * @description Needs an API key of the role admin, and is served on the admin port alone.
         */
        post: operations["createApiKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Takes an API key back; its sandboxes stay.
         * @description Needs an API key of the role admin, and is served on the admin port alone.
         */
        delete: operations["revokeApiKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The OpenAPI document of this API. */
        get: operations["getOpenApi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/pools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the warm pools. */
        get: operations["listPools"];
        put?: never;
        /**
         * Makes a warm pool of a template.
         * @description Needs an API key of the role admin, and is served on the admin port alone.
         */
        post: operations["createPool"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/pools/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says how a pool is. */
        get: operations["getPool"];
        put?: never;
        post?: never;
        /**
         * Deletes a pool and its unclaimed sandboxes; those in use stay.
         * @description Needs an API key of the role admin, and is served on the admin port alone.
         */
        delete: operations["deletePool"];
        options?: never;
        head?: never;
        /**
         * Sets the size of a pool.
         * @description Needs an API key of the role admin, and is served on the admin port alone.
         */
        patch: operations["scalePool"];
        trace?: never;
    };
    "/api/v1/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the templates. */
        get: operations["listSandboxTemplates"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/templates/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says what a template is like. */
        get: operations["getSandboxTemplate"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says what the sandboxes of an API key have used. */
        get: operations["getUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/default-templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the templates of the installation for all teams: none. */
        get: operations["listDefaultTemplates"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/events/sandboxes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists what happened to the team's sandboxes. */
        get: operations["listSandboxEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/events/sandboxes/{sandboxID}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists what happened to a sandbox. */
        get: operations["listEventsOfSandbox"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/events/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the webhooks of the team. */
        get: operations["listWebhooks"];
        put?: never;
        /** Has events of sandboxes sent to an address. */
        post: operations["createWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/events/webhooks/{webhookID}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says where a webhook sends which events. */
        get: operations["getWebhook"];
        put?: never;
        post?: never;
        /** Deletes a webhook with its deliveries. */
        delete: operations["deleteWebhook"];
        options?: never;
        head?: never;
        /** Changes a webhook. */
        patch: operations["updateWebhook"];
        trace?: never;
    };
    "/events/webhooks/{webhookID}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists what was sent, or is to be sent again. */
        get: operations["listWebhookDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/events/webhooks/{webhookID}/deliveries/{eventID}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sends an event again whose delivery has ended. */
        post: operations["replayWebhookDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/events/webhooks/{webhookID}/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Counts the deliveries that are kept. */
        get: operations["getWebhookStats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says that the API answers. */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the running sandboxes of the team. */
        get: operations["listSandboxes"];
        put?: never;
        /** Creates a sandbox (version 1). */
        post: operations["createSandbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/{sandboxID}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says all about a sandbox. */
        get: operations["getSandbox"];
        put?: never;
        post?: never;
        /** Kills a sandbox, running or paused. */
        delete: operations["killSandbox"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/{sandboxID}/connect": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Connects, resuming if needed (version 1). */
        post: operations["connectSandbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/{sandboxID}/fork": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Makes sandboxes that go on from the memory and the files of a running one, which goes on as well. */
        post: operations["forkSandbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/{sandboxID}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Reads the log of a sandbox from a time on. */
        get: operations["getSandboxLogs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/{sandboxID}/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says how much a sandbox uses and used. */
        get: operations["getSandboxMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/{sandboxID}/network": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Replaces the egress rules of a sandbox, which can only narrow those of its template; answers when they hold. */
        put: operations["updateSandboxNetwork"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/{sandboxID}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Pauses a sandbox. Volumes stay; memory and files stay if its template hibernates. */
        post: operations["pauseSandbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/{sandboxID}/refreshes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Gives a running sandbox more time, never less. */
        post: operations["refreshSandbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/{sandboxID}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Resumes a paused sandbox. */
        post: operations["resumeSandbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/{sandboxID}/snapshots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Saves the memory and the files of a running sandbox, which goes on; sandboxes can then start from it. */
        post: operations["createSnapshot"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/{sandboxID}/timeout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sets the end of a running sandbox, counted from now. */
        post: operations["setSandboxTimeout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sandboxes/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says how much several sandboxes used last. */
        get: operations["listSandboxMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the secrets of the team, page by page, without their values. */
        get: operations["listSecrets"];
        put?: never;
        /** Creates a secret, which headers of requests may have. */
        post: operations["createSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/secrets/{secretID}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says what a secret is called, and which version it has. */
        get: operations["getSecret"];
        put?: never;
        /** Gives a secret a new value, as its next version. */
        post: operations["updateSecret"];
        /** Deletes a secret with all its versions. */
        delete: operations["deleteSecret"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/snapshots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the snapshots of the team, page by page. */
        get: operations["listSnapshots"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/teams": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Names the team of the API key. */
        get: operations["listTeams"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/teams/{teamID}/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says how many sandboxes the team had over time. */
        get: operations["getTeamMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/teams/{teamID}/metrics/max": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says when the team had the most sandboxes. */
        get: operations["getTeamMetricsMax"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists pools, and templates without a pool. */
        get: operations["listTemplates"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates/{templateID}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says what a template is like. */
        get: operations["getTemplate"];
        put?: never;
        post?: never;
        /** Deletes a snapshot, or a template that was built. Others are deleted where they were made. */
        delete: operations["deleteTemplate"];
        options?: never;
        head?: never;
        /** Does the same for older clients. */
        patch: operations["changeTemplate"];
        trace?: never;
    };
    "/templates/{templateID}/builds/{buildID}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Reads the log of a build. */
        get: operations["getTemplateBuildLogs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates/{templateID}/builds/{buildID}/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says how far a build is, with a page of its log. */
        get: operations["getTemplateBuildStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates/{templateID}/files/{hash}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says whether files of a build are there, and where to send them. */
        get: operations["getTemplateFiles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates/{templateID}/tags": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the tags of a template. */
        get: operations["listTemplateTags"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates/{templateID}/tags/{tag}/assignments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the builds that a tag was given to, page by page. */
        get: operations["listTagAssignments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates/{templateID}/tags/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Counts the tags of a template. */
        get: operations["countTemplateTags"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates/{templateID}/tags/exists": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says whether a template has a tag. */
        get: operations["hasTemplateTag"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates/{templateID}/tags/groups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the tags of a template with the builds that they were given to, page by page. */
        get: operations["listTemplateTagGroups"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates/aliases/{alias}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says whether a template of that name exists. */
        get: operations["getTemplateAlias"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/templates/tags": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Gives tags to the build that a template has now. */
        post: operations["assignTemplateTags"];
        /** Takes tags from a template. */
        delete: operations["deleteTemplateTags"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/sandboxes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the sandboxes of the team, page by page. */
        get: operations["listSandboxesV2"];
        put?: never;
        /** Creates a sandbox. */
        post: operations["createSandboxV2"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/sandboxes/{sandboxID}/connect": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Connects, resuming if needed. */
        post: operations["connectSandboxV2"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/sandboxes/{sandboxID}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Reads the log of a sandbox from a time on, or back from it. */
        get: operations["getSandboxLogsV2"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the same page by page. */
        get: operations["listTemplatesV2"];
        put?: never;
        /** Asks for the same, as older clients do. */
        post: operations["requestTemplateV2"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v2/templates/{templateID}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Lets other teams use a template, or no longer. */
        patch: operations["changeTemplateV2"];
        trace?: never;
    };
    "/v2/templates/{templateID}/builds/{buildID}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Gives a build its steps, and starts it. */
        post: operations["startTemplateBuild"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v3/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Asks for a build of a template, which waits for its steps. */
        post: operations["requestTemplateV3"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/volumecontent/{volumeID}/dir": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists a directory of a volume. */
        get: operations["listVolumeDir"];
        put?: never;
        /** Makes a directory in a volume. */
        post: operations["makeVolumeDir"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/volumecontent/{volumeID}/file": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Reads a file of a volume. */
        get: operations["readVolumeFile"];
        /** Writes a file into a volume. */
        put: operations["writeVolumeFile"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/volumecontent/{volumeID}/path": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Describes what is at a path of a volume. */
        get: operations["getVolumePath"];
        put?: never;
        post?: never;
        /** Removes what is at a path of a volume, with all below it. */
        delete: operations["deleteVolumePath"];
        options?: never;
        head?: never;
        /** Changes the mode of what is at a path of a volume. */
        patch: operations["patchVolumePath"];
        trace?: never;
    };
    "/volumes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the volumes of the team. */
        get: operations["listVolumes"];
        put?: never;
        /** Creates a volume. */
        post: operations["createVolume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/volumes/{volumeID}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Gives out a new token for the content of a volume. */
        get: operations["getVolume"];
        put?: never;
        post?: never;
        /** Deletes a volume with its data. */
        delete: operations["deleteVolume"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        ApiKey: {
            createdAt: string;
            description: string;
            id: string;
            limits: {
                chooseName?: boolean;
                createsPerSecond?: number;
                keepFailed?: boolean;
                maxTimeoutSeconds?: number;
                neverTimeout?: boolean;
                sandboxes?: number;
            };
            namespace: string;
            /** @enum {string} */
            role: "tenant" | "admin";
            team: string;
        };
        AssignedTags: {
            /** Format: uuid */
            buildID: string;
            tags: string[];
        };
        BuildLogEntry: {
            /** @enum {string} */
            level: "debug" | "info" | "warn" | "error";
            message: string;
            step?: string;
            timestamp: string;
        };
        Claim: {
            claimed: number;
            conditions: components["schemas"]["Condition"][];
            /** Format: date-time */
            createdAt: string;
            message?: string;
            name: string;
            namespace: string;
            phase: string;
            pool?: string;
            ready: number;
            replicas: number;
            sandboxes: components["schemas"]["DeliveredSandbox"][];
            /** Format: date-time */
            shutdownTime?: string;
            template?: string;
            uid: string;
        };
        ClaimEgress: {
            /** @description False if a replica did not answer: counts may be too low. */
            complete: boolean;
            /** @description The newest first, of the last seven days, while the replicas that counted them run. */
            refusals: {
                count: number;
                /** @description A name, or * for all names beyond the first hundred. */
                host: string;
                /** Format: date-time */
                last: string;
                port?: number;
                /** @description dns, tls, http or connect. */
                protocol: string;
                reason: string;
            }[];
        };
        Condition: {
            lastTransitionTime: string;
            message: string;
            reason: string;
            status: string;
            type: string;
        };
        ConnectSandbox: {
            /** @description Seconds. */
            timeout: number;
        };
        ConnectSandboxV2: {
            memory?: boolean | null;
            timeout?: number | null;
        };
        CreatedApiKey: {
            createdAt: string;
            description: string;
            id: string;
            /** @description The key itself, which is shown this once. */
            key: string;
            limits: {
                chooseName?: boolean;
                createsPerSecond?: number;
                keepFailed?: boolean;
                maxTimeoutSeconds?: number;
                neverTimeout?: boolean;
                sandboxes?: number;
            };
            namespace: string;
            /** @enum {string} */
            role: "tenant" | "admin";
            team: string;
        };
        CreatedTeamAPIKey: {
            /** Format: date-time */
            createdAt: string;
            createdBy: null;
            /** Format: uuid */
            id: string;
            key: string;
            lastUsed: null;
            mask: {
                /** @description Always empty: nothing of a key is kept. */
                maskedValuePrefix: string;
                /** @description Always empty. */
                maskedValueSuffix: string;
                prefix: string;
                valueLength: number;
            };
            name: string;
        };
        DeletedTemplateTags: {
            /** @description A template that was built, without a tag. */
            name: string;
            tags: string[];
        };
        DeliveredSandbox: {
            /** @description What the sandbox was to keep and has lost, and why. Absent: nothing. */
            lost?: {
                /** Format: date-time */
                at: string;
                message: string;
                reason: string;
            };
            name: string;
            /** @enum {string} */
            origin: "Warm" | "Cold" | "Unknown";
            podIPs: string[];
            ready: boolean;
            /**
             * @description What a sandbox that runs went on with after its last pause, if its template hibernates.
             * @enum {string}
             */
            resumedFrom?: "Memory" | "Files" | "Volumes";
        };
        Error: {
            code: number;
            error_code?: string;
            message: string;
        };
        ForkedSandbox: {
            error?: components["schemas"]["Error"];
            sandbox?: components["schemas"]["Sandbox"];
        };
        ForkSandbox: {
            /** @description How many forks to make, 1 to 100. */
            count?: number | null;
            /** @description Seconds that each fork lives. */
            timeout?: number | null;
        };
        Health: {
            bus: boolean;
            /** @enum {string} */
            status: "ok" | "starting";
            synced: boolean;
            version: string;
        };
        ListedSandbox: {
            alias?: string;
            clientID: string;
            cpuCount: number;
            diskSizeMB: number;
            /** Format: date-time */
            endAt: string;
            /** @description Paused although its daemon did not answer: only a connect with memory false resumes it. */
            envdUnresponsiveAtPause?: boolean;
            envdVersion: string;
            memoryMB: number;
            metadata?: {
                [key: string]: string;
            };
            sandboxID: string;
            /** Format: date-time */
            startedAt: string;
            /** @enum {string} */
            state: "running" | "paused";
            templateID: string;
            /** @description Absent: none. */
            volumeMounts?: components["schemas"]["VolumeMountOutput"][];
        };
        ListedVolume: {
            name: string;
            volumeID: string;
        };
        MaxTeamMetric: {
            /** Format: date-time */
            timestamp: string;
            timestampUnix: number;
            value: number;
        };
        NetworkConfig: {
            allowOut?: string[] | null;
            allowPublicTraffic?: boolean | null;
            denyOut?: string[] | null;
            dnsServers?: string[] | null;
            egressProxy?: unknown;
            httpsPorts?: number[] | null;
            maskRequestHost?: string | null;
            rules?: components["schemas"]["NetworkRules"] | null;
        };
        /** @description Headers that the egress proxy sets in requests to a host: a name, or *. and a name. Values may have ${e2b.secrets.NAME}. */
        NetworkRules: {
            [key: string]: {
                transform: {
                    headers: {
                        [key: string]: string;
                    };
                };
            }[];
        };
        NetworkUpdate: {
            allow_internet_access?: boolean | null;
            allowOut?: string[] | null;
            denyOut?: string[] | null;
            dnsServers?: string[] | null;
            egressProxy?: unknown;
            rules?: components["schemas"]["NetworkRules"] | null;
        };
        NewApiKey: {
            /** @default  */
            description: string;
            /** @default {} */
            limits: {
                chooseName?: boolean;
                createsPerSecond?: number;
                keepFailed?: boolean;
                maxTimeoutSeconds?: number;
                neverTimeout?: boolean;
                sandboxes?: number;
            };
            namespace: string;
            /**
             * @default tenant
             * @enum {string}
             */
            role: "tenant" | "admin";
            /** @description Default: as the namespace. */
            team?: string;
        };
        NewClaim: {
            /** @example 90s */
            claimTimeout?: string;
            createOnNoStock?: boolean;
            labels?: {
                [key: string]: string;
            };
            name: string;
            pool?: string;
            /** @default 1 */
            replicas: number;
            template?: string;
            /** @description How long the sandboxes live; default: as long as the key allows. */
            timeoutSeconds?: number;
            /**
             * @deprecated
             * @description Refused: without the claim the holder of the key could not list or delete the sandboxes.
             */
            ttlSecondsAfterCompleted?: number;
        };
        NewPool: {
            name: string;
            /** @default 1 */
            replicas: number;
            template: string;
        };
        NewPreview: {
            /** @default 3600 */
            expiresInSeconds: number;
            port: number;
        };
        NewSandbox: {
            allow_internet_access?: boolean | null;
            autoPause?: boolean | null;
            autoPauseMemory?: boolean | null;
            autoResume?: {
                enabled?: boolean | null;
            } | null;
            envVars?: {
                [key: string]: string;
            } | null;
            iam?: unknown;
            mcp?: {
                [key: string]: {
                    [key: string]: unknown;
                };
            } | null;
            metadata?: {
                [key: string]: string;
            } | null;
            network?: components["schemas"]["NetworkConfig"] | null;
            secure?: boolean | null;
            /** @description Name of a warm pool, or of a template. */
            templateID: string;
            timeout?: number | null;
            volumeMounts?: components["schemas"]["VolumeMount"][] | null;
        };
        NewSandboxV2: {
            allow_internet_access?: boolean | null;
            autoPause?: boolean | null;
            autoPauseMemory?: boolean | null;
            autoResume?: {
                enabled?: boolean | null;
            } | null;
            envVars?: {
                [key: string]: string;
            } | null;
            iam?: unknown;
            mcp?: {
                [key: string]: {
                    [key: string]: unknown;
                };
            } | null;
            metadata?: {
                [key: string]: string;
            } | null;
            network?: components["schemas"]["NetworkConfig"] | null;
            /** @description Name of a warm pool, or of a template. */
            templateID: string;
            timeout?: number | null;
            volumeMounts?: components["schemas"]["VolumeMount"][] | null;
        };
        NewSecret: {
            metadata?: {
                [key: string]: string;
            } | null;
            /** @description Lower case in answers, and unique in the team. */
            name: string;
            /** @description No answer ever has it. At most 64 KiB. */
            value: string;
        };
        NewSnapshot: {
            /** @description False asks for the files alone, which is refused. */
            memory?: boolean | null;
            /** @description Name, with ":<tag>" behind if it has one. */
            name?: string | null;
        };
        NewTemplate: {
            /** @description Counts as the name. */
            alias?: string | null;
            /** @description CPUs, 1 or an even number; default 2. */
            cpuCount?: number | null;
            /** @description MiB, an even number; default 1024. */
            memoryMB?: number | null;
            /** @description Free disk in MiB. */
            minFreeDiskMb?: number | null;
            /** @description `name`, `name:tag` or `team/name`. */
            name?: string | null;
            tags?: string[] | null;
            /** @description The team of the API key: there is no other. */
            teamID?: string | null;
        };
        NewTemplateTags: {
            tags: string[];
            /** @description A template that was built, with a tag or without. */
            target: string;
        };
        NewTemplateV2: {
            alias?: string | null;
            /** @description CPUs, 1 or an even number; default 2. */
            cpuCount?: number | null;
            /** @description MiB, an even number; default 1024. */
            memoryMB?: number | null;
            /** @description The team of the API key: there is no other. */
            teamID?: string | null;
        };
        NewVolume: {
            /** @description Unique in the team. */
            name: string;
        };
        NewWebhook: {
            /** @default true */
            enabled: boolean;
            /** @description The types that it gets. */
            events: ("sandbox.lifecycle.created" | "sandbox.lifecycle.updated" | "sandbox.lifecycle.paused" | "sandbox.lifecycle.resumed" | "sandbox.lifecycle.checkpointed" | "sandbox.lifecycle.killed")[];
            name: string;
            /** @description Deliveries are signed with it. No answer ever has it. */
            signatureSecret: string;
            /** @description A public address, by https or http. */
            url: string;
        };
        PauseSandbox: {
            /** @description False keeps no memory. */
            memory?: boolean | null;
            /** @description True refuses to pause a sandbox whose daemon does not answer. */
            requireHealthyGuest?: boolean | null;
        };
        Pool: {
            aliases: string[];
            conditions: components["schemas"]["Condition"][];
            /** Format: date-time */
            createdAt: string;
            desired: number;
            inUse: number;
            name: string;
            namespace: string;
            pending: number;
            ready: number;
            replicas: number;
            template: string;
        };
        PoolChange: {
            replicas: number;
        };
        Preview: {
            /** Format: date-time */
            expiresAt: string;
            port: number;
            /** @description Opens the port in a browser. Everyone with the URL has access until then. */
            url: string;
        };
        ResumedSandbox: {
            autoPause?: boolean | null;
            memory?: boolean | null;
            timeout?: number | null;
        };
        Sandbox: {
            alias?: string;
            clientID: string;
            domain: string | null;
            envdAccessToken?: string;
            envdVersion: string;
            /** @description What the sandbox was to keep and has lost, and why. Absent: nothing. */
            lost?: {
                /** Format: date-time */
                at: string;
                message: string;
                reason: string;
            };
            /**
             * @description What a sandbox that runs went on with after its last pause, if its template hibernates.
             * @enum {string}
             */
            resumedFrom?: "Memory" | "Files" | "Volumes";
            sandboxID: string;
            templateID: string;
            trafficAccessToken: string | null;
        };
        SandboxDetail: {
            alias?: string;
            allowInternetAccess?: boolean | null;
            clientID: string;
            cpuCount: number;
            diskSizeMB: number;
            domain?: string | null;
            /** Format: date-time */
            endAt: string;
            envdAccessToken?: string;
            /** @description Paused although its daemon did not answer: only a connect with memory false resumes it. */
            envdUnresponsiveAtPause?: boolean;
            envdVersion: string;
            lifecycle: {
                autoResume: boolean;
                /** @enum {string} */
                onTimeout: "kill" | "pause";
            };
            /** @description What the sandbox was to keep and has lost, and why. Absent: nothing. */
            lost?: {
                /** Format: date-time */
                at: string;
                message: string;
                reason: string;
            };
            memoryMB: number;
            metadata?: {
                [key: string]: string;
            };
            network?: {
                allowOut?: string[];
                allowPublicTraffic: boolean;
                denyOut?: string[];
                rules?: components["schemas"]["NetworkRules"];
            };
            /** @enum {string} */
            pauseMode?: "full" | "filesystem";
            /**
             * @description What a sandbox that runs went on with after its last pause, if its template hibernates.
             * @enum {string}
             */
            resumedFrom?: "Memory" | "Files" | "Volumes";
            sandboxID: string;
            /** Format: date-time */
            startedAt: string;
            /** @enum {string} */
            state: "running" | "paused";
            templateID: string;
            /** @description Absent: none. */
            volumeMounts?: components["schemas"]["VolumeMountOutput"][];
        };
        SandboxEvent: {
            eventCategory: string;
            eventData: {
                [key: string]: unknown;
            } | null;
            eventLabel: string;
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            sandboxBuildId: string;
            /** Format: uuid */
            sandboxExecutionId: string;
            sandboxId: string;
            /** Format: uuid */
            sandboxTeamId: string;
            sandboxTemplateId: string;
            /** Format: date-time */
            timestamp: string;
            /** @enum {string} */
            type: "sandbox.lifecycle.created" | "sandbox.lifecycle.updated" | "sandbox.lifecycle.paused" | "sandbox.lifecycle.resumed" | "sandbox.lifecycle.checkpointed" | "sandbox.lifecycle.killed";
            version: string;
        };
        SandboxLogEntry: {
            fields: {
                [key: string]: string;
            };
            /** @enum {string} */
            level: "debug" | "info" | "warn" | "error";
            message: string;
            /** Format: date-time */
            timestamp: string;
        };
        SandboxLogs: {
            logEntries: components["schemas"]["SandboxLogEntry"][];
            logs: {
                /** @description JSON with level, message and logger. */
                line: string;
                /** Format: date-time */
                timestamp: string;
            }[];
        };
        SandboxLogsV2: {
            logs: components["schemas"]["SandboxLogEntry"][];
        };
        SandboxMetric: {
            cpuCount: number;
            cpuUsedPct: number;
            diskTotal: number;
            diskUsed: number;
            memCache: number;
            memTotal: number;
            memUsed: number;
            /** Format: date-time */
            timestamp: string;
            timestampUnix: number;
        };
        SandboxRefresh: {
            duration?: number | null;
        };
        SandboxTemplate: {
            aliases: string[];
            conditions: components["schemas"]["Condition"][];
            cpuCount: number;
            /** Format: date-time */
            createdAt: string;
            diskSizeMB: number;
            images: string[];
            memoryMB: number;
            name: string;
            namespace: string;
            pools: string[];
            /** @description Whether the daemon is put into its sandboxes. */
            runtime: boolean;
        };
        SandboxTimeout: {
            /** @description Seconds. */
            timeout: number;
        };
        Secret: {
            /** Format: date-time */
            createdAt: string;
            currentVersion: number;
            metadata: {
                [key: string]: string;
            };
            name: string;
            secretID: string;
            /** Format: date-time */
            updatedAt: string;
        };
        SecretUpdate: {
            /** @description Absent: as before. */
            metadata?: {
                [key: string]: string;
            } | null;
            /** @description No answer ever has it. At most 64 KiB. */
            value: string;
        };
        Snapshot: {
            names: string[];
            /** @description Creates take it as `templateID`. */
            snapshotID: string;
        };
        Team: {
            apiKey: string;
            /** @constant */
            isDefault: true;
            name: string;
            teamID: string;
        };
        TeamAPIKey: {
            /** Format: date-time */
            createdAt: string;
            createdBy: null;
            /** Format: uuid */
            id: string;
            lastUsed: null;
            mask: {
                /** @description Always empty: nothing of a key is kept. */
                maskedValuePrefix: string;
                /** @description Always empty. */
                maskedValueSuffix: string;
                prefix: string;
                valueLength: number;
            };
            name: string;
        };
        TeamMetric: {
            concurrentSandboxes: number;
            sandboxStartRate: number;
            /** Format: date-time */
            timestamp: string;
            timestampUnix: number;
        };
        Template: {
            aliases: string[];
            buildCount: number;
            buildID: string;
            /** @enum {string} */
            buildStatus: "waiting" | "building" | "ready" | "error";
            cpuCount: number;
            /** Format: date-time */
            createdAt: string;
            createdBy: null;
            diskSizeMB: number;
            envdVersion: string;
            lastSpawnedAt: null;
            memoryMB: number;
            names: string[];
            public: boolean;
            spawnCount: number;
            templateID: string;
            /** Format: date-time */
            updatedAt: string;
        };
        TemplateAlias: {
            public: boolean;
            templateID: string;
        };
        TemplateBuild: {
            /** Format: uuid */
            buildID: string;
            cpuCount: number;
            /** Format: date-time */
            createdAt: string;
            diskSizeMB: number;
            envdVersion: string;
            /**
             * Format: date-time
             * @description Absent: it has not ended.
             */
            finishedAt?: string;
            memoryMB: number;
            /** @enum {string} */
            status: "waiting" | "building" | "ready" | "error";
            /** Format: date-time */
            updatedAt: string;
        };
        TemplateBuildFileUpload: {
            present: boolean;
            url: string;
        };
        TemplateBuildInfo: {
            /** Format: uuid */
            buildID: string;
            logEntries: components["schemas"]["BuildLogEntry"][];
            /** @description Empty. */
            logs: string[];
            /** @description Why it failed. */
            reason?: {
                logEntries: components["schemas"]["BuildLogEntry"][];
                message: string;
                step?: string;
            };
            /** @enum {string} */
            status: "waiting" | "building" | "ready" | "error";
            templateID: string;
        };
        TemplateBuildStart: {
            force?: boolean | null;
            fromImage?: string | null;
            fromImageRegistry?: components["schemas"]["TemplateRegistry"] | null;
            fromTemplate?: string | null;
            readyCmd?: string | null;
            startCmd?: string | null;
            steps?: components["schemas"]["TemplateStep"][] | null;
        };
        TemplateChange: {
            /** @description Whether other teams may start sandboxes of it. */
            public?: boolean | null;
        };
        TemplateNames: {
            names: string[];
        };
        TemplateRegistry: {
            password: string;
            /** @constant */
            type: "registry";
            username: string;
        } | {
            awsAccessKeyId: string;
            awsRegion: string;
            awsSecretAccessKey: string;
            /** @constant */
            type: "aws";
        } | {
            serviceAccountJson: string;
            /** @constant */
            type: "gcp";
        };
        TemplateRequest: {
            aliases: string[];
            /** Format: uuid */
            buildID: string;
            names: string[];
            public: boolean;
            tags: string[];
            templateID: string;
        };
        TemplateRequestV2: {
            aliases: string[];
            buildCount: number;
            buildID: string;
            cpuCount: number;
            /** Format: date-time */
            createdAt: string;
            createdBy: null;
            diskSizeMB: number;
            envdVersion: string;
            lastSpawnedAt: null;
            memoryMB: number;
            public: boolean;
            spawnCount: number;
            templateID: string;
            /** Format: date-time */
            updatedAt: string;
        };
        TemplateStep: {
            args?: string[] | null;
            filesHash?: string | null;
            force?: boolean | null;
            /** @description Of the client alone, as the two below. */
            forceUpload?: unknown;
            gzip?: unknown;
            resolveSymlinks?: unknown;
            type: string;
        };
        TemplateTag: {
            /** Format: uuid */
            buildID: string;
            /** Format: date-time */
            createdAt: string;
            tag: string;
        };
        TemplateTagAssignment: {
            /** Format: date-time */
            assignedAt: string;
            /** Format: uuid */
            assignmentID: string;
            /** Format: date-time */
            buildCreatedAt: string;
            buildFinishedAt: string | null;
            /** Format: uuid */
            buildID: string;
        };
        TemplateWithBuilds: {
            aliases: string[];
            buildCount: number;
            buildID: string;
            /** @description Newest first. */
            builds: components["schemas"]["TemplateBuild"][];
            /** @enum {string} */
            buildStatus: "waiting" | "building" | "ready" | "error";
            cpuCount: number;
            /** Format: date-time */
            createdAt: string;
            createdBy: null;
            diskSizeMB: number;
            envdVersion: string;
            lastSpawnedAt: null;
            memoryMB: number;
            names: string[];
            public: boolean;
            spawnCount: number;
            templateID: string;
            /** Format: date-time */
            updatedAt: string;
        };
        Usage: {
            /** @description Until when sandboxes that run are counted; null without usage. */
            asOf: string | null;
            end: string;
            /** @description The key is null for claims that no API key made. */
            groups?: {
                /** @description Requested CPUs times that time. */
                cpuSeconds: number;
                day?: string;
                /** @description Requested memory times that time. */
                gibHours: number;
                key?: string | null;
                /** @description Time that sandboxes have run. */
                sandboxSeconds: number;
            }[];
            namespace: string;
            start: string;
            total: {
                /** @description Requested CPUs times that time. */
                cpuSeconds: number;
                /** @description Requested memory times that time. */
                gibHours: number;
                /** @description Time that sandboxes have run. */
                sandboxSeconds: number;
            };
        };
        Volume: {
            name: string;
            /** @description Opens the content of this volume for 24 hours. */
            token: string;
            volumeID: string;
        };
        VolumeContentError: {
            /** @description The status, as a number for a query that is malformed. */
            code: string | number;
            message: string;
        };
        VolumeEntryStat: {
            /** Format: date-time */
            atime: string;
            /** Format: date-time */
            ctime: string;
            gid: number;
            mode: number;
            /** Format: date-time */
            mtime: string;
            name: string;
            path: string;
            size: number;
            target?: string;
            /** @enum {string} */
            type: "unknown" | "file" | "directory" | "symlink";
            uid: number;
        };
        VolumeMount: {
            name: string;
            path: string;
        };
        VolumeMountOutput: {
            name: string;
            path: string;
        };
        Webhook: {
            /** Format: date-time */
            createdAt: string;
            enabled: boolean;
            events: ("sandbox.lifecycle.created" | "sandbox.lifecycle.updated" | "sandbox.lifecycle.paused" | "sandbox.lifecycle.resumed" | "sandbox.lifecycle.checkpointed" | "sandbox.lifecycle.killed")[];
            /** Format: uuid */
            id: string;
            name: string;
            /** Format: uuid */
            teamId: string;
            url: string;
        };
        WebhookDeliveries: {
            data: {
                attempts: {
                    durationMs: number;
                    error?: string;
                    statusCode?: number;
                    timestamp: string;
                }[];
                /** Format: uuid */
                deliveryId: string;
                /** Format: uuid */
                eventId: string;
                /** @enum {string} */
                eventType: "sandbox.lifecycle.created" | "sandbox.lifecycle.updated" | "sandbox.lifecycle.paused" | "sandbox.lifecycle.resumed" | "sandbox.lifecycle.checkpointed" | "sandbox.lifecycle.killed";
                sandboxId: string;
                /** @enum {string} */
                status: "pending" | "succeeded" | "failed";
            }[];
            nextCursor: string | null;
        };
        /** @description Over the deliveries that are kept. */
        WebhookStats: {
            attempts: number;
            failed: number;
            pending: number;
            succeeded: number;
            total: number;
        };
        /** @description What is absent stays as before. */
        WebhookUpdate: {
            enabled?: boolean;
            /** @description The types that it gets. */
            events?: ("sandbox.lifecycle.created" | "sandbox.lifecycle.updated" | "sandbox.lifecycle.paused" | "sandbox.lifecycle.resumed" | "sandbox.lifecycle.checkpointed" | "sandbox.lifecycle.killed")[];
            name?: string;
            /** @description Deliveries are signed with it. No answer ever has it. */
            signatureSecret?: string;
            /** @description A public address, by https or http. */
            url?: string;
        };
    };
    responses: {
        /** @description The request cannot be served as it is; the message names the field. */
        Refusal400: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description No API key, or one that is unknown or was revoked. */
        Refusal401: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Not with this API key. */
        Refusal403: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description There is no such thing, as far as this API key goes. */
        Refusal404: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description It is in another state, or on its way to one. */
        Refusal409: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The body is too large. */
        Refusal413: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The encoding of the body is not known. */
        Refusal415: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The Idempotency-Key was used for another request. */
        Refusal422: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description A quota is used up; Retry-After says when to come again. */
        Refusal429: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description An internal error. */
        Refusal500: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The cluster cannot serve it now; it may be tried again. */
        Refusal503: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description It was not done in time. */
        Refusal504: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    countRunningSandboxes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description By team; without those that have none. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: number;
                    };
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    createApiKeyOfTeam: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                teamID: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                };
            };
        };
        responses: {
            /** @description The key, which is shown this once. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedTeamAPIKey"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    deleteApiKeyOfTeam: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                apiKeyID: string;
                teamID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    cancelTeamBuilds: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                teamID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How many it ended; they are gone then. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        cancelledCount: number;
                        failedCount: number;
                    };
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    killTeamSandboxes: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                teamID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How many it killed, and how many are still there. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        failedCount: number;
                        killedCount: number;
                    };
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    listTeamApiKeys: {
        parameters: {
            query?: never;
            header?: {
                "x-team-id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of them, the oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TeamAPIKey"][];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    createTeamApiKey: {
        parameters: {
            query?: never;
            header?: {
                "x-team-id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                };
            };
        };
        responses: {
            /** @description The key, which is shown this once. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedTeamAPIKey"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    deleteTeamApiKey: {
        parameters: {
            query?: never;
            header?: {
                "x-team-id"?: string;
            };
            path: {
                apiKeyID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    renameTeamApiKey: {
        parameters: {
            query?: never;
            header?: {
                "x-team-id"?: string;
            };
            path: {
                apiKeyID: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    listClaims: {
        parameters: {
            query?: {
                /** @description Keys of the role admin only: another namespace than their own. */
                namespace?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of them. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Claim"][];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    createClaim: {
        parameters: {
            query?: {
                /** @description Keys of the role admin only: another namespace than their own. */
                namespace?: string;
                /** @description Seconds to wait for it to be served. */
                wait?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewClaim"];
            };
        };
        responses: {
            /** @description The claim. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Claim"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getClaim: {
        parameters: {
            query?: {
                /** @description Keys of the role admin only: another namespace than their own. */
                namespace?: string;
                /** @description Seconds to wait for it to be served. */
                wait?: number;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The claim. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Claim"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    deleteClaim: {
        parameters: {
            query?: {
                /** @description Keys of the role admin only: another namespace than their own. */
                namespace?: string;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getClaimEgress: {
        parameters: {
            query?: {
                /** @description Keys of the role admin only: another namespace than their own. */
                namespace?: string;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The destinations. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClaimEgress"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    createPreview: {
        parameters: {
            query?: {
                /** @description Keys of the role admin only: another namespace than their own. */
                namespace?: string;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPreview"];
            };
        };
        responses: {
            /** @description The preview. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Preview"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    revokePreviews: {
        parameters: {
            query?: {
                /** @description Keys of the role admin only: another namespace than their own. */
                namespace?: string;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getDocs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            400: components["responses"]["Refusal400"];
            500: components["responses"]["Refusal500"];
        };
    };
    followEvents: {
        parameters: {
            query?: {
                /** @description Keys of the role admin only: another namespace than their own. */
                namespace?: string;
                /** @description Begin with those of the last so many seconds; default with what comes. */
                since?: number;
                /** @description One type, such as claim.bound, or a kind with all its types: claim.* */
                type?: string;
            };
            header?: {
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description CloudEvents, one per message; the id is the place in the stream, by which Last-Event-ID goes on where it ended. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It answers. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            400: components["responses"]["Refusal400"];
            500: components["responses"]["Refusal500"];
        };
    };
    getOwnApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key, without its text. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    listApiKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of them. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"][];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    createApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewApiKey"];
            };
        };
        responses: {
            /** @description The key, which is shown this once. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedApiKey"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    revokeApiKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getOpenApi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            400: components["responses"]["Refusal400"];
            500: components["responses"]["Refusal500"];
        };
    };
    listPools: {
        parameters: {
            query?: {
                /** @description Keys of the role admin only: another namespace than their own. */
                namespace?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of them. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pool"][];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    createPool: {
        parameters: {
            query?: {
                /** @description Keys of the role admin only: another namespace than their own. */
                namespace?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPool"];
            };
        };
        responses: {
            /** @description The pool. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pool"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getPool: {
        parameters: {
            query?: {
                /** @description Keys of the role admin only: another namespace than their own. */
                namespace?: string;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The pool. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pool"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    deletePool: {
        parameters: {
            query?: {
                /** @description Keys of the role admin only: another namespace than their own. */
                namespace?: string;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    scalePool: {
        parameters: {
            query?: {
                /** @description Keys of the role admin only: another namespace than their own. */
                namespace?: string;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PoolChange"];
            };
        };
        responses: {
            /** @description The pool. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pool"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    listSandboxTemplates: {
        parameters: {
            query?: {
                /** @description Keys of the role admin only: another namespace than their own. */
                namespace?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of them. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxTemplate"][];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getSandboxTemplate: {
        parameters: {
            query?: {
                /** @description Keys of the role admin only: another namespace than their own. */
                namespace?: string;
            };
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The template. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxTemplate"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getUsage: {
        parameters: {
            query?: {
                /** @description The last day; default: today. */
                end?: string;
                /** @description Adds usage by API key, or by day. */
                group?: "key" | "day";
                /** @description Keys of the role admin only: another namespace than their own. */
                namespace?: string;
                /** @description The first day, in UTC; default: 29 days before the last. */
                start?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Sums of the days, which are those of UTC. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Usage"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    listDefaultTemplates: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description None: each template is of one team. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Template"][];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    listSandboxEvents: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
                /** @description The oldest event first. */
                orderAsc?: boolean;
                /** @description Types to list; default all. */
                types?: ("sandbox.lifecycle.created" | "sandbox.lifecycle.updated" | "sandbox.lifecycle.paused" | "sandbox.lifecycle.resumed" | "sandbox.lifecycle.checkpointed" | "sandbox.lifecycle.killed")[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxEvent"][];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    listEventsOfSandbox: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
                /** @description The oldest event first. */
                orderAsc?: boolean;
                /** @description Types to list; default all. */
                types?: ("sandbox.lifecycle.created" | "sandbox.lifecycle.updated" | "sandbox.lifecycle.paused" | "sandbox.lifecycle.resumed" | "sandbox.lifecycle.checkpointed" | "sandbox.lifecycle.killed")[];
            };
            header?: never;
            path: {
                sandboxID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxEvent"][];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    listWebhooks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of them. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"][];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    createWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewWebhook"];
            };
        };
        responses: {
            /** @description The webhook, without its secret. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                webhookID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The webhook, without its secret. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    deleteWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                webhookID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    updateWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                webhookID: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["WebhookUpdate"];
            };
        };
        responses: {
            /** @description The webhook, without its secret. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    listWebhookDeliveries: {
        parameters: {
            query?: {
                cursor?: string;
                deliveryStatus?: "pending" | "succeeded" | "failed";
                end?: string;
                eventType?: "sandbox.lifecycle.created" | "sandbox.lifecycle.updated" | "sandbox.lifecycle.paused" | "sandbox.lifecycle.resumed" | "sandbox.lifecycle.checkpointed" | "sandbox.lifecycle.killed";
                limit?: number;
                /** @description The oldest first. */
                orderAsc?: boolean;
                start?: string;
            };
            header?: never;
            path: {
                webhookID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveries"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    replayWebhookDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                eventID: string;
                webhookID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is queued. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getWebhookStats: {
        parameters: {
            query?: {
                end?: string;
                start?: string;
            };
            header?: never;
            path: {
                webhookID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The counts. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookStats"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It does. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refusal400"];
            500: components["responses"]["Refusal500"];
        };
    };
    listSandboxes: {
        parameters: {
            query?: {
                /** @description Pairs that must all match: form-encoded, keys and values percent-encoded before. */
                metadata?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of them. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListedSandbox"][];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    createSandbox: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key with the same body answers the first sandbox again. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSandbox"];
            };
        };
        responses: {
            /** @description The sandbox runs and its daemon answers. */
            201: {
                headers: {
                    /** @description Creates that may come at once. */
                    "RateLimit-Limit"?: number;
                    "RateLimit-Remaining"?: number;
                    /** @description Seconds until all may come again. */
                    "RateLimit-Reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sandbox"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the sandbox, as the create answered it. */
                sandboxID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sandbox. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxDetail"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    killSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the sandbox, as the create answered it. */
                sandboxID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    connectSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the sandbox, as the create answered it. */
                sandboxID: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ConnectSandbox"];
            };
        };
        responses: {
            /** @description It was running; it may have been given more time. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sandbox"];
                };
            };
            /** @description It was paused and has been resumed. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sandbox"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    forkSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the sandbox, as the create answered it. */
                sandboxID: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ForkSandbox"];
            };
        };
        responses: {
            /** @description One entry for each fork. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ForkedSandbox"][];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getSandboxLogs: {
        parameters: {
            query?: {
                limit?: number;
                /** @description Unix milliseconds of the first line; absent: a week ago. */
                start?: number;
            };
            header?: never;
            path: {
                /** @description Id of the sandbox, as the create answered it. */
                sandboxID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The lines, the oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxLogs"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getSandboxMetrics: {
        parameters: {
            query?: {
                /** @description Unix seconds. */
                end?: number;
                /** @description Unix seconds. */
                start?: number;
            };
            header?: never;
            path: {
                /** @description Id of the sandbox, as the create answered it. */
                sandboxID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Samples in ascending order; none when there are none, and its daemon does not answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxMetric"][];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    updateSandboxNetwork: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the sandbox, as the create answered it. */
                sandboxID: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NetworkUpdate"];
            };
        };
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    pauseSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the sandbox, as the create answered it. */
                sandboxID: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PauseSandbox"];
            };
        };
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    refreshSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the sandbox, as the create answered it. */
                sandboxID: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SandboxRefresh"];
            };
        };
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    resumeSandbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the sandbox, as the create answered it. */
                sandboxID: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ResumedSandbox"];
            };
        };
        responses: {
            /** @description The sandbox runs and its daemon answers. */
            201: {
                headers: {
                    /** @description Creates that may come at once. */
                    "RateLimit-Limit"?: number;
                    "RateLimit-Remaining"?: number;
                    /** @description Seconds until all may come again. */
                    "RateLimit-Reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sandbox"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    createSnapshot: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the sandbox, as the create answered it. */
                sandboxID: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NewSnapshot"];
            };
        };
        responses: {
            /** @description It is saved. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Snapshot"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    setSandboxTimeout: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the sandbox, as the create answered it. */
                sandboxID: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SandboxTimeout"];
            };
        };
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    listSandboxMetrics: {
        parameters: {
            query: {
                /** @description Ids of sandboxes, with commas between them. Those that the team does not have are left out. */
                sandbox_ids: string[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The last sample of each that runs and has one, by its id. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        sandboxes: {
                            [key: string]: components["schemas"]["SandboxMetric"];
                        };
                    };
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    listSecrets: {
        parameters: {
            query?: {
                limit?: number;
                /** @description Where the page before ended: its header x-next-token. */
                nextToken?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page, by name. */
            200: {
                headers: {
                    /** @description The next page; absent on the last. */
                    "x-next-token"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"][];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            /** @description The cluster failed. */
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    createSecret: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSecret"];
            };
        };
        responses: {
            /** @description The secret, without its value. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            /** @description The cluster failed. */
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Its id or name. */
                secretID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The secret, without its value. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            /** @description The cluster failed. */
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    updateSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Its id or name. */
                secretID: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SecretUpdate"];
            };
        };
        responses: {
            /** @description The secret, without its value. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Secret"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            /** @description The cluster failed. */
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    deleteSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Its id or name. */
                secretID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            /** @description The cluster failed. */
            502: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    listSnapshots: {
        parameters: {
            query?: {
                limit?: number;
                /** @description A name, with any tag unless one is given. */
                name?: string;
                /** @description Where the page before ended: its header x-next-token. */
                nextToken?: string;
                /** @description Of this sandbox, which may be gone. */
                sandboxID?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page, newest first. */
            200: {
                headers: {
                    /** @description The next page; absent on the last. */
                    "x-next-token"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Snapshot"][];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    listTeams: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One team, whose id is its namespace. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Team"][];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getTeamMetrics: {
        parameters: {
            query?: {
                /** @description Unix seconds. */
                end?: number;
                /** @description Unix seconds. */
                start?: number;
            };
            header?: never;
            path: {
                teamID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description At most a thousand points, the oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TeamMetric"][];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getTeamMetricsMax: {
        parameters: {
            query: {
                /** @description Unix seconds. */
                end?: number;
                metric: "concurrent_sandboxes" | "sandbox_start_rate";
                /** @description Unix seconds. */
                start?: number;
            };
            header?: never;
            path: {
                teamID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The first of the highest points. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MaxTeamMetric"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    listTemplates: {
        parameters: {
            query?: {
                /** @description The team of the API key: no other is listed. */
                teamID?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of them, newest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Template"][];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getTemplate: {
        parameters: {
            query?: {
                limit?: number;
                /** @description Where the page before ended: its header x-next-token. */
                nextToken?: string;
            };
            header?: never;
            path: {
                templateID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The template, with a page of its builds. */
            200: {
                headers: {
                    /** @description The next page; absent on the last. */
                    "x-next-token"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateWithBuilds"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    deleteTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                templateID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    changeTemplate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                templateID: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TemplateChange"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getTemplateBuildLogs: {
        parameters: {
            query?: {
                /** @description Milliseconds since 1970. */
                cursor?: number;
                direction?: "forward" | "backward";
                /** @description The least level. */
                level?: "debug" | "info" | "warn" | "error";
                limit?: number;
                /** @description There is one log, whatever it says. */
                source?: "temporary" | "persistent";
            };
            header?: never;
            path: {
                buildID: string;
                templateID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Entries of the log. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        logs: components["schemas"]["BuildLogEntry"][];
                    };
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getTemplateBuildStatus: {
        parameters: {
            query?: {
                /** @description The least level. */
                level?: "debug" | "info" | "warn" | "error";
                limit?: number;
                /** @description Entries of that level that the client has. */
                logsOffset?: number;
            };
            header?: never;
            path: {
                buildID: string;
                templateID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Its state. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateBuildInfo"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getTemplateFiles: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                hash: string;
                templateID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Whether they are there, and the URL for a PUT of the archive, which needs no API key. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateBuildFileUpload"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    listTemplateTags: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                templateID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of them, newest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateTag"][];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    listTagAssignments: {
        parameters: {
            query?: {
                /** @description `nextCursor` of the page before. */
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path: {
                tag: string;
                templateID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page, newest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        data: components["schemas"]["TemplateTagAssignment"][];
                        nextCursor: string | null;
                    };
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    countTemplateTags: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                templateID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How many it has. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        total: number;
                    };
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    hasTemplateTag: {
        parameters: {
            query: {
                tag: string;
            };
            header?: never;
            path: {
                templateID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Whether it has. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        exists: boolean;
                        normalizedTag: string;
                    };
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    listTemplateTagGroups: {
        parameters: {
            query?: {
                assignmentLimit?: number;
                /** @description Part of the tags to list. */
                search?: string;
                sort?: "latest_desc" | "latest_asc" | "name_asc" | "name_desc";
                /** @description `nextCursor` of the page before. */
                tagsCursor?: string;
                tagsLimit?: number;
            };
            header?: never;
            path: {
                templateID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        nextCursor: string | null;
                        tags: {
                            assignments: components["schemas"]["TemplateTagAssignment"][];
                            hasMore: boolean;
                            tag: string;
                        }[];
                    };
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getTemplateAlias: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                alias: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It does. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateAlias"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    assignTemplateTags: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewTemplateTags"];
            };
        };
        responses: {
            /** @description They lead to it. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AssignedTags"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    deleteTemplateTags: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeletedTemplateTags"];
            };
        };
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    listSandboxesV2: {
        parameters: {
            query?: {
                limit?: number;
                /** @description Pairs that must all match: form-encoded, keys and values percent-encoded before. */
                metadata?: string;
                /** @description Where the page before ended: its header x-next-token. */
                nextToken?: string;
                /** @description By start time. */
                order?: "asc" | "desc";
                startedAfter?: string;
                /** @description States to list; default both. */
                state?: ("running" | "paused")[];
                /** @description Name of a pool or template. */
                template?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page. */
            200: {
                headers: {
                    /** @description The next page; absent on the last. */
                    "x-next-token"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListedSandbox"][];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    createSandboxV2: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key with the same body answers the first sandbox again. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSandboxV2"];
            };
        };
        responses: {
            /** @description The sandbox runs and its daemon answers. */
            201: {
                headers: {
                    /** @description Creates that may come at once. */
                    "RateLimit-Limit"?: number;
                    "RateLimit-Remaining"?: number;
                    /** @description Seconds until all may come again. */
                    "RateLimit-Reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sandbox"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    connectSandboxV2: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the sandbox, as the create answered it. */
                sandboxID: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ConnectSandboxV2"];
            };
        };
        responses: {
            /** @description It was running; it may have been given more time. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sandbox"];
                };
            };
            /** @description It was paused and has been resumed. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sandbox"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getSandboxLogsV2: {
        parameters: {
            query?: {
                /** @description Unix milliseconds: lines from here on, or with direction backward before here. */
                cursor?: number;
                direction?: "forward" | "backward";
                /** @description The least level. */
                level?: "debug" | "info" | "warn" | "error";
                limit?: number;
                /** @description What the message contains. */
                search?: string;
            };
            header?: never;
            path: {
                /** @description Id of the sandbox, as the create answered it. */
                sandboxID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The lines, in the direction of the query. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SandboxLogsV2"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    listTemplatesV2: {
        parameters: {
            query?: {
                limit?: number;
                /** @description Where the page before ended: its header x-next-token. */
                nextToken?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page, newest first. */
            200: {
                headers: {
                    /** @description The next page; absent on the last. */
                    "x-next-token"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Template"][];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    requestTemplateV2: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NewTemplateV2"];
            };
        };
        responses: {
            /** @description The build waits. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateRequestV2"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    changeTemplateV2: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                templateID: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TemplateChange"];
            };
        };
        responses: {
            /** @description Its names. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateNames"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    startTemplateBuild: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                buildID: string;
                templateID: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["TemplateBuildStart"];
            };
        };
        responses: {
            /** @description It builds, or waits for its turn. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    requestTemplateV3: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NewTemplate"];
            };
        };
        responses: {
            /** @description The build waits. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TemplateRequest"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    listVolumeDir: {
        parameters: {
            query: {
                depth?: number;
                /** @description From the root of the volume. */
                path: string;
            };
            header?: never;
            path: {
                volumeID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeEntryStat"][];
                };
            };
            /** @description The request cannot be served as it is. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The token does not open this volume. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The owner of the file does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The volume, or what is at the path, does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description Nothing of the transfer moved for too long. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description Something is at the path already. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description Too many operations of the team run. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The path is longer than the head of a request may be. */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["Refusal500"];
            /** @description The file server does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The volumes of the team are full. */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
        };
    };
    makeVolumeDir: {
        parameters: {
            query: {
                /** @description Makes the parents too, and takes what is there. */
                force?: boolean;
                gid?: number;
                /** @description Permission bits as a number: 438 is 0666. */
                mode?: number;
                /** @description From the root of the volume. */
                path: string;
                uid?: number;
            };
            header?: never;
            path: {
                volumeID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeEntryStat"];
                };
            };
            /** @description The request cannot be served as it is. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The token does not open this volume. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The owner of the file does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The volume, or what is at the path, does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description Nothing of the transfer moved for too long. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description Something is at the path already. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description Too many operations of the team run. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The path is longer than the head of a request may be. */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["Refusal500"];
            /** @description The file server does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The volumes of the team are full. */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
        };
    };
    readVolumeFile: {
        parameters: {
            query: {
                /** @description From the root of the volume. */
                path: string;
            };
            header?: never;
            path: {
                volumeID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": string;
                };
            };
            /** @description The request cannot be served as it is. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The token does not open this volume. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The owner of the file does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The volume, or what is at the path, does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description Nothing of the transfer moved for too long. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description Something is at the path already. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description Too many operations of the team run. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The path is longer than the head of a request may be. */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["Refusal500"];
            /** @description The file server does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The volumes of the team are full. */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
        };
    };
    writeVolumeFile: {
        parameters: {
            query: {
                /** @description Makes the parents too, and takes what is there. */
                force?: boolean;
                gid?: number;
                /** @description Permission bits as a number: 438 is 0666. */
                mode?: number;
                /** @description From the root of the volume. */
                path: string;
                uid?: number;
            };
            header?: never;
            path: {
                volumeID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeEntryStat"];
                };
            };
            /** @description The request cannot be served as it is. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The token does not open this volume. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The owner of the file does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The volume, or what is at the path, does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description Nothing of the transfer moved for too long. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description Something is at the path already. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description Too many operations of the team run. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The path is longer than the head of a request may be. */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["Refusal500"];
            /** @description The file server does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The volumes of the team are full. */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
        };
    };
    getVolumePath: {
        parameters: {
            query: {
                /** @description From the root of the volume. */
                path: string;
            };
            header?: never;
            path: {
                volumeID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeEntryStat"];
                };
            };
            /** @description The request cannot be served as it is. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The token does not open this volume. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The owner of the file does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The volume, or what is at the path, does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description Nothing of the transfer moved for too long. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description Something is at the path already. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description Too many operations of the team run. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The path is longer than the head of a request may be. */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["Refusal500"];
            /** @description The file server does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The volumes of the team are full. */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
        };
    };
    deleteVolumePath: {
        parameters: {
            query: {
                /** @description From the root of the volume. */
                path: string;
            };
            header?: never;
            path: {
                volumeID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request cannot be served as it is. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The token does not open this volume. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The owner of the file does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The volume, or what is at the path, does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description Nothing of the transfer moved for too long. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description Something is at the path already. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description Too many operations of the team run. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The path is longer than the head of a request may be. */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["Refusal500"];
            /** @description The file server does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The volumes of the team are full. */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
        };
    };
    patchVolumePath: {
        parameters: {
            query: {
                /** @description From the root of the volume. */
                path: string;
            };
            header?: never;
            path: {
                volumeID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeEntryStat"];
                };
            };
            /** @description The request cannot be served as it is. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The token does not open this volume. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The owner of the file does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The volume, or what is at the path, does not exist. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description Nothing of the transfer moved for too long. */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description Something is at the path already. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description Too many operations of the team run. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The path is longer than the head of a request may be. */
            431: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            500: components["responses"]["Refusal500"];
            /** @description The file server does not answer. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
            /** @description The volumes of the team are full. */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeContentError"];
                };
            };
        };
    };
    listVolumes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All of them, by name. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListedVolume"][];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    createVolume: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewVolume"];
            };
        };
        responses: {
            /** @description The volume, with a token for its content. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Volume"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    getVolume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                volumeID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The volume, with a token for its content. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Volume"];
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
    deleteVolume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                volumeID: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is gone; its data goes in the background. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            403: components["responses"]["Refusal403"];
            404: components["responses"]["Refusal404"];
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            429: components["responses"]["Refusal429"];
            500: components["responses"]["Refusal500"];
            503: components["responses"]["Refusal503"];
            504: components["responses"]["Refusal504"];
        };
    };
}
