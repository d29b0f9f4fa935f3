//! Equality of search requests.

use assay_plan::{Request, SystemRequest, without_places};

/// Compares two requests apart from their systems and the sources of these.
pub fn is_alike(one: &Request, other: &Request) -> bool {
    matches!((bare(one), bare(other)), (Some(one), Some(other)) if one == other)
}

fn bare(request: &Request) -> Option<Request> {
    let (systems, config_options) = (Vec::new(), without_places(&request.config_options));
    let request =
        Request { systems, source: None, offline: false, config_options, ..request.clone() };
    assay_plan::read_study("request", &assay_plan::write_study(&with_systems(&request))).ok()
}

/// Text of a request, which is equal where requests are alike.
pub(super) fn asked(request: &Request) -> String {
    bare(request).map(|request| assay_plan::write_study(&request)).unwrap_or_default()
}

/// A request needs systems to be written.
fn with_systems(request: &Request) -> Request {
    let systems = ["mariadb@1", "mariadb@2"].map(SystemRequest::of).to_vec();
    Request { systems, ..request.clone() }
}
